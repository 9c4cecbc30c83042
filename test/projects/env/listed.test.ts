/** The variables of projects in a list: those of a project with many or large ones are left out. docs/limits.md. */
import assert from 'node:assert/strict'
import { onBothEngines, type World } from '../../support/world.ts'

const MAX_BYTES = 48 * 1024
const COUNT = 60

type Draft = { key: string; [field: string]: unknown }

/** A project with two environments of its own and these variables, each in as many places as asked. */
async function make({ call }: World, name: string, drafts: (ids: readonly string[]) => Draft[]): Promise<void> {
  await call('POST', '/v10/projects', { name })
  const ids: string[] = []
  for (const slug of ['a', 'b'])
    ids.push((await call('POST', `/v9/projects/${name}/custom-environments`, { slug })).body.id)
  const body = drafts(ids).map((draft) => ({ value: 'x', type: 'encrypted', ...draft }))
  if (body.length > 0) await call('POST', `/v10/projects/${name}/env`, body)
}

const keysOf = (name: string) => Array.from({ length: COUNT }, (_, at) => `${name.toUpperCase()}_${10 + at}`)

onBothEngines(
  'a list of projects has no variables of one with more than 300 places or 48 KiB of them, and all of the others',
  async (world) => {
    const { call } = world
    const inFive = (name: string) => (customEnvironmentIds: readonly string[]) =>
      keysOf(name).map((key) => ({ key, target: ['production', 'preview', 'development'], customEnvironmentIds }))
    const inOne = (name: string, comments: readonly string[]) => () =>
      keysOf(name).map((key, at) => ({ key, target: ['production'], ...(comments[at] && { comment: comments[at] }) }))
    const sizeOf = async (name: string) =>
      Buffer.byteLength(JSON.stringify((await call('GET', `/v9/projects/${name}`)).body.env))

    await make(world, 'none', () => [])
    await make(world, 'wide', inFive('wide'))
    await make(world, 'more', (ids) => [...inFive('more')(ids), { key: 'MORE_1', target: ['preview'] }])
    await make(world, 'bare', inOne('bare', []))
    // A comment takes its name and quotes, too.
    const left = MAX_BYTES - (await sizeOf('bare')) - COUNT * ',"comment":""'.length
    const share = Math.floor(left / COUNT)
    const comments = Array.from({ length: COUNT }, (_, at) => 'x'.repeat(at === 0 ? left - (COUNT - 1) * share : share))
    await make(world, 'full', inOne('full', comments))
    await make(world, 'over', inOne('over', [`${comments[0]!}x`, ...comments.slice(1)]))
    assert.deepEqual([await sizeOf('full'), await sizeOf('over')], [MAX_BYTES, MAX_BYTES + 1])
    await make(world, 'gone', () => [{ key: 'GONE_1', target: ['preview'] }])
    const { id } = (await call('GET', '/v9/projects/gone')).body.env[0]!
    await call('DELETE', `/v9/projects/gone/env/${id}`)

    const { projects } = (await call('GET', '/v9/projects?limit=100')).body
    const listed = projects.map(({ name, env }) => [name, env?.map(({ key }) => key).sort()])
    assert.deepEqual(Object.fromEntries(listed), {
      none: [],
      wide: keysOf('wide'),
      more: undefined,
      bare: keysOf('bare'),
      full: keysOf('full'),
      over: undefined,
      gone: [],
    })
  },
)
