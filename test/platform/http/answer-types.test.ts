/** TYPES what is known of an answer follows from its path: each line that is marked here must be an error of `tsc`. */
import assert from 'node:assert/strict'
import type { Routes } from '../../../src/routes.ts'
import { onBothEngines } from '../../support/world.ts'

onBothEngines(
  'an answer has the fields of the reply that its route declares, and those of a refusal',
  async (world) => {
    const { call } = world
    const made = await call('POST', '/v10/projects', { name: 'web' })
    const id: string = made.body.id
    // @ts-expect-error: no such field
    assert.equal(made.body.ident, undefined)
    const shown = await call('GET', `/v9/projects/${id}?teamId=`)
    // @ts-expect-error: a text
    const name: number = shown.body.name
    assert.deepEqual([name, shown.body.name], ['web', 'web'])
    const list = await call('GET', '/v4/projects?search=web')
    assert.equal(list.body.projects[0].id, id)
    // @ts-expect-error: the list has rows and no fields of one
    assert.equal(list.body.projects.id, undefined)
    const PATH = `/v9/projects/${id}/domains` as const
    const refused = await call.try('POST', PATH, { name: '!' })
    assert.equal(refused.body.error.code, 'invalid_domain')
    // @ts-expect-error: a refusal has a code
    assert.equal(refused.body.error.kode, undefined)
    const { created } = (await call('POST', `/v10/projects/${id}/env`, { key: 'A', value: 'v', target: ['preview'] }))
      .body
    assert.equal(created.key, 'A')
    // @ts-expect-error: one variable, or a list of them
    assert.equal(created.kee, undefined)
  },
)

/** A path that is not a literal would make the type of every response unknown. */
type Unwritten = Routes extends infer R ? (R extends { path: infer P } ? (string extends P ? R : never) : never) : never
const unwritten: [Unwritten] extends [never] ? 'none' : Unwritten = 'none'
assert.equal(unwritten, 'none')
