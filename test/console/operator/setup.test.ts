/** What an operator sets up before users come, on the first page of the operator. docs/console.md: Operator. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { onBothEngines } from '../../support/world.ts'

const ROOT = '/console/operator'
const STEPS = ['backups', 'keyring', 'address', 'sites', 'builds', 'mail', 'team']

onBothEngines('the list names what is open, an operator acknowledges a step, and the log has it', async (world) => {
  const client = await openSignedInClient(world)
  const stateOf = async (step: string) => {
    const { body } = await world.operator('GET', '/operator/v1/setup')
    return body.steps.find((one: { step: string }) => one.step === step)!.state
  }
  const { body } = await world.operator('GET', '/operator/v1/setup')
  assert.deepEqual(
    body.steps.map(({ step }: { step: string }) => step),
    STEPS,
  )
  assert.equal(body.dismissed, false)
  const shown = (await client.get(ROOT)).text
  assert.match(shown, /<h2 id="setup">Get ready for your users<\/h2><span class="count">\d of 7</)
  assert.match(shown, /<b>Copy the keyring<\/b>[\s\S]*?aria-label="I have a copy: Copy the keyring"/)
  assert.equal(await stateOf('keyring'), 'open')
  const posts = [1, 2].map(() => client.post(`${ROOT}/setup/keyring`))
  assert.deepEqual(
    (await Promise.all(posts)).map(({ location }) => location),
    [ROOT, ROOT],
  )
  assert.equal(await stateOf('keyring'), 'acknowledged')
  const later = (await client.get(ROOT)).text
  assert.match(later, /aria-label="Done">[\s\S]*?<span class="soft">Copy the keyring<\/span>/)
  assert.doesNotMatch(later, /setup\/keyring/)
  assert.equal((await client.post(`${ROOT}/setup/nothing`)).status, 404)
  const { entries } = (await world.operator('GET', '/operator/v1/audit?type=operatorAcknowledgeSetup')).body
  assert.ok(
    entries.every(
      ({ actor, subjectId }: { actor: { id: string }; subjectId: string }) =>
        actor.id === world.credentials.userId && subjectId === 'keyring',
    ) && entries.length > 0,
    JSON.stringify(entries),
  )
})

onBothEngines(
  'a step is done by what the service sees: a colleague, an address, a copy of the keyring',
  async (world) => {
    const read = async () => {
      const { steps } = (await world.operator('GET', '/operator/v1/setup')).body
      return Object.fromEntries(steps.map(({ step, state }: { step: string; state: string }) => [step, state]))
    }
    assert.equal((await read()).team, 'open')
    const mate = await world.user('mate')
    await world.operator('PUT', `/operator/v1/teams/${world.credentials.teamId}/members/${mate.id}`, { role: 'MEMBER' })
    assert.equal((await read()).team, 'done')
  },
)

onBothEngines(
  'settings complete their steps',
  async (world) => {
    const { steps } = (await world.operator('GET', '/operator/v1/setup')).body
    const done = steps.filter(({ state }: { state: string }) => state === 'done')
    assert.deepEqual(
      done.map(({ step }: { step: string }) => step),
      ['backups', 'address', 'sites', 'builds', 'mail'],
    )
  },
  {
    BERTH_BACKUP_SCHEDULE: '0 3 * * *',
    BERTH_PUBLIC_URL: 'https://berth.example',
    BERTH_PLATFORM_SUFFIX: 'apps.example.net',
    BERTH_BUILDS: 'trusted',
    BERTH_SMTP_URL: 'smtp://127.0.0.1:1',
    BERTH_MAIL_FROM: 'berth@example.com',
  },
)

onBothEngines('the list goes once every step is acknowledged, or it is dismissed as a whole', async (world) => {
  const client = await openSignedInClient(world)
  for (const step of STEPS) {
    assert.match((await client.get(ROOT)).text, /<h2 id="setup">/, step)
    await client.post(`${ROOT}/setup/${step}`)
  }
  assert.doesNotMatch((await client.get(ROOT)).text, /id="setup"/)
})

onBothEngines('a dismissed list does not come back', async (world) => {
  const client = await openSignedInClient(world)
  await client.get(ROOT)
  await client.post(`${ROOT}/setup/all`)
  assert.doesNotMatch((await client.get(ROOT)).text, /id="setup"/)
  assert.equal((await world.operator('GET', '/operator/v1/setup')).body.dismissed, true)
  // No other user changes or reads it.
  const ada = await world.user('ada')
  const person = await openSignedInClient(world, ada.id, 'ada')
  await person.get('/console')
  assert.equal((await person.post(`${ROOT}/setup/mail`)).status, 403)
})
