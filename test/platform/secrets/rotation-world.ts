/** What the tests of rotation share: projects that each hold one encrypted variable. */
import assert from 'node:assert/strict'
import type { World } from '../../support/world.ts'

export const KEYS = '/operator/v1/keys'

export const SECRET = { type: 'encrypted', target: ['preview'] }

export async function fill({ call }: Pick<World, 'call'>, count: number, from = 0): Promise<void> {
  const names = Array.from({ length: count }, (_, at) => `p${from + at}`)
  while (names.length > 0) {
    const some = names.splice(0, 25).map(async (name) => {
      const environmentVariables = [{ ...SECRET, key: 'A', value: `of ${name}` }]
      assert.equal((await call('POST', '/v10/projects', { name, environmentVariables })).status, 200)
    })
    await Promise.all(some)
  }
}

export async function everyValueOpens({ call }: Pick<World, 'call'>, count: number): Promise<void> {
  const projects = Array.from({ length: count }, (_, at) => at)
  while (projects.length > 0) {
    const some = projects.splice(0, 25)
    const answers = await Promise.all(some.map((at) => call.try('GET', `/v9/projects/p${at}/env?decrypt=true`)))
    for (const [index, { status, text, body }] of answers.entries()) {
      assert.equal(status, 200, text)
      assert.deepEqual([body.envs[0].value, body.envs[0].decrypted], [`of p${some[index]}`, true])
    }
  }
}
