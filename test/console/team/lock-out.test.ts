/** The settings of a team name the members that a required second factor locks out. docs/accounts.md: Required two-factor authentication. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { setUpCodes } from '../../support/clients/second-factor.ts'
import { onBothEngines } from '../../support/world.ts'

const SETTINGS = '/console/t/team/settings'

onBothEngines('members without a second factor are named before it is required', async (world) => {
  const lena = await world.user('lena')
  await world.join(lena, 'VIEWER')
  const [owner, member] = [await openSignedInClient(world), await openSignedInClient(world, lena.id, 'lena')]
  const hintIn = (text: string) => /id="factor-hint">([^<]*)</.exec(text)?.[1]
  assert.equal(hintIn((await owner.get(SETTINGS)).text), 'If it is required, these members lose access: admin, lena.')
  assert.doesNotMatch((await member.get(SETTINGS)).text, /these members lose access/)
  await setUpCodes(world, owner)
  assert.equal(hintIn((await owner.get(SETTINGS)).text), 'If it is required, these members lose access: lena.')
  await setUpCodes(world, member)
  assert.equal(hintIn((await owner.get(SETTINGS)).text), 'All members have a second factor.')
})

onBothEngines('of many members without a second factor some are named', async (world) => {
  for (let n = 10; n < 31; n++) await world.join(await world.user(`m${n}`), 'VIEWER')
  const owner = await openSignedInClient(world)
  const { text } = await owner.get(SETTINGS)
  assert.match(text, /If it is required, these members lose access: admin, m10, [^<]*m28 and others\./)
})
