/** Byte order marks, codings, the scheme of a 401, and the message for a union. docs/spec/decisions.md: Errors, limits, versions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { REFUSALS, type RefusalKey } from '../../../src/errors.ts'
import { headersOf } from '../../../src/platform/http/error-handler.ts'
import { validate } from '../../../src/platform/http/validate.ts'
import { Refusal } from '../../../src/platform/refusals/refusal.ts'
import { Type } from '../../../src/platform/schema/builder.ts'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines } from '../../support/world.ts'

test('every refusal of 401 names its scheme, and no other refusal does', () => {
  for (const key of Object.keys(REFUSALS) as RefusalKey[]) {
    const headers = headersOf(new Refusal(key, '', {}))
    assert.equal('www-authenticate' in headers, REFUSALS[key][0] === 401, key)
    assert.equal('retry-after' in headers, REFUSALS[key][0] === 503, key)
  }
})

onBothEngines('a 401 asks for a bearer token, and says when the one that was sent is not valid', async (world) => {
  for (const path of ['/v9/projects', '/v2/user'] as const) {
    const none = await world.as(undefined).try('GET', path)
    assert.deepEqual([none.status, none.headers['www-authenticate']], [401, 'Bearer realm="berth"'])
    const wrong = await world.as('berth_wrong').try('GET', path)
    assert.equal(wrong.headers['www-authenticate'], 'Bearer realm="berth", error="invalid_token"')
  }
})

onBothEngines(
  'a byte order mark before JSON or a text is passed over, and a coding is refused by its name',
  async (world) => {
    await seedProject(world, 'web')
    const json = { 'content-type': 'application/json' }
    const marked = new Blob(['\uFEFF{"name":"marked"}'], { type: 'application/json' })
    assert.equal((await world.call('POST', '/v10/projects', marked, json)).body.name, 'marked')
    const text = new Blob(['\uFEFFA=1'], { type: 'text/plain' })
    const put = await world.call('PUT', '/v1/projects/web/env?target=preview', text, { 'content-type': 'text/plain' })
    assert.deepEqual(put.body.plan.created, ['A'])
    const packed = await world.call.try('POST', '/v10/projects', { name: 'x' }, { 'content-encoding': 'gzip' })
    assert.equal(packed.status, 415)
    assert.match(packed.body.error.message, /Content-Encoding: gzip/)
    const plain = await world.call('POST', '/v10/projects', { name: 'plain' }, { 'content-encoding': 'identity' })
    assert.equal(plain.body.name, 'plain')
  },
)

test('the sentence for a union names the variant that came nearest', () => {
  const Target = Type.Union([Type.Enum(['a', 'b']), Type.Array(Type.Enum(['a', 'b']), { minItems: 1 }), Type.Null()])
  const Body = Type.Object({ target: Target })
  const said = (target: unknown) => {
    try {
      return validate(Body, { target })
    } catch (error) {
      return (error as Error).message
    }
  }
  assert.equal(said([]), 'Invalid request: `target` should not be empty.')
  assert.equal(said('c'), 'Invalid request: `target` should be one of "a", "b".')
  assert.equal(said(['c']), 'Invalid request: `target.0` should be one of "a", "b".')
  assert.deepEqual(said(['a']), { target: ['a'] })
})

test('the sentence for a union names its constant, the variant that came nearer, or all types where none came near', () => {
  const Projects = Type.Union([Type.Literal('all'), Type.Array(Type.String(), { minItems: 1 })])
  const said = (projects: unknown) => {
    try {
      return validate(Type.Object({ projects: Projects }), { projects })
    } catch (error) {
      return (error as Error).message
    }
  }
  assert.equal(said('some'), 'Invalid request: `projects` should be "all".')
  assert.equal(said([]), 'Invalid request: `projects` should not be empty.')
  assert.equal(said({}), 'Invalid request: `projects` should be string or array.')
  assert.equal(said([5]), 'Invalid request: `projects.0` should be string.')
})
