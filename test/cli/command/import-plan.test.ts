/** What a plan of an import counts, sends and gives up. docs/moving-in.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  addPlan,
  newAccountImportReport,
  runPlan,
  sendBisecting,
  tryRequest,
} from '../../../src/cli/command/import/plan.ts'
import type { ServerItem } from '../../../src/cli/command/import/schemas.ts'
import type { Server } from '../../../src/cli/command/import/server.ts'
import { projectChange, projectCreation } from '../../../src/cli/command/import/settings.ts'
import { readServerValue, variableSteps } from '../../../src/cli/command/import/variables.ts'
import { ServiceError } from '../../../src/cli/command/service-client.ts'

test('changes are listed one by one, up to 200, and all are counted', () => {
  const report = newAccountImportReport()
  const names = Array.from({ length: 300 }, (_, at) => `web: K${at}`)
  addPlan(report, {
    steps: [{ kind: 'variable', action: 'change', names, run: async () => [] }],
    same: { domain: 2 },
    todo: ['by hand'],
  })
  assert.deepEqual([report.changes.length, report.changes.at(-1)], [200, 'variable web: K199'])
  assert.deepEqual([report.counts.variable.changed, report.counts.domain.unchanged, report.todo], [300, 2, ['by hand']])
})

test('a refusal of one resource is reported alone; one of the caller, and any other error, end the import', async () => {
  const refused = (status: number) => async () => {
    throw new ServiceError(status, { message: `says ${status}` })
  }
  for (const status of [400, 402, 403, 409, 413, 422, 428])
    assert.deepEqual(await tryRequest(refused(status)), { message: `says ${status}` })
  for (const status of [401, 404, 429, 500])
    await assert.rejects(tryRequest(refused(status)), new RegExp(`says ${status}`))
  const broken = async () => {
    throw new TypeError('a bug')
  }
  await assert.rejects(tryRequest(broken), /a bug/)
})

test('a batch that is refused is sent again in halves, until each refused item is alone', async () => {
  const sent: number[][] = []
  const send = async (items: readonly number[]) => {
    sent.push([...items])
    if (items.includes(3)) throw new ServiceError(400, { message: 'not 3' })
    return []
  }
  assert.deepEqual(await sendBisecting([1, 2, 3, 4], String, send), [{ what: '3', message: 'not 3' }])
  assert.deepEqual(sent, [[1, 2, 3, 4], [1, 2], [3, 4], [3], [4]])
  assert.deepEqual(await sendBisecting([], String, () => assert.fail('nothing is sent')), [])
})

test('variables are sent 100 at a time, and at most 512 KiB', () => {
  const sizes = (count: number, bytes: number) => {
    const create = Array.from({ length: count }, (_, at) => ({
      ...{ key: `K${at}`, value: 'x'.repeat(bytes), type: 'plain', target: ['preview'] },
    }))
    const steps = variableSteps({} as Server, 'web', { create, change: [], same: 0, unread: [] })
    return steps.map(({ names }) => names.length)
  }
  assert.deepEqual(sizes(250, 1), [100, 100, 50])
  assert.deepEqual(sizes(5, 200 * 1024), [2, 2, 1])
  assert.deepEqual(sizes(2, 600 * 1024), [1, 1], 'one that is larger goes alone')
})

/** A service here that refuses what names `refused`, and what was written to it. */
function refusing(refused: readonly string[]) {
  const written: string[] = []
  const write = async (method: string, path: string, body?: object) => {
    const line = [method, path, ...(body === undefined ? [] : [JSON.stringify(body)])].join(' ')
    if (refused.some((word) => line.includes(word))) throw new ServiceError(400, { message: 'not here' })
    written.push(line)
    return { id: 'prj_1' }
  }
  return { here: { write } as unknown as Server, written }
}

const SETTINGS = { framework: 'astro', nodeVersion: '1.x' }
const switched = (name: string) => {
  return { name, send: (here: Server, id: string) => here.write('POST', `/${id}/${name}`) }
}
const CHANGES = { settings: SETTINGS, switches: [switched('crons'), switched('paused')] }
const REFUSED = [
  { what: 'web: nodeVersion', message: 'not here' },
  { what: 'web: crons', message: 'not here' },
]

test('in a project that exists everything that is accepted is updated, and what is refused is reported', async () => {
  const { here, written } = refusing(['1.x', 'crons'])
  const report = newAccountImportReport()
  const step = projectChange(here, { name: 'web', id: 'prj_1' }, CHANGES)
  await runPlan(report, { steps: [step], same: {}, todo: [] })
  assert.deepEqual(written, ['PATCH /v9/projects/web {"framework":"astro"}', 'POST /prj_1/paused'])
  assert.deepEqual(report.failed, REFUSED)
  assert.deepEqual([step.names, report.counts.project.changed], [['web (framework, nodeVersion, crons, paused)'], 1])
})

test('a project that is refused with its settings is made without them, and takes those that it may', async () => {
  const { here, written } = refusing(['1.x', 'crons'])
  const report = newAccountImportReport()
  await runPlan(report, { steps: [projectCreation(here, 'web', CHANGES)], same: {}, todo: [] })
  assert.deepEqual(written, [
    'POST /v10/projects {"name":"web"}',
    'PATCH /v9/projects/web {"framework":"astro"}',
    'POST /prj_1/paused',
  ])
  assert.deepEqual([report.failed, report.counts.project.created], [REFUSED, 1])

  const whole = refusing([])
  await runPlan(newAccountImportReport(), { steps: [projectCreation(whole.here, 'web', CHANGES)], same: {}, todo: [] })
  assert.deepEqual(whole.written, [
    'POST /v10/projects {"name":"web","framework":"astro","nodeVersion":"1.x"}',
    'POST /prj_1/crons',
    'POST /prj_1/paused',
  ])
})

test('a decrypted value is taken from the list, and one that may be sealed is requested alone', async () => {
  const V1 = '/v1/projects/web/env/env_1?decrypt=true'
  const V10 = '/v10/projects/web/env/env_1?decrypt=true'
  const cases: [listed: ServerItem, answers: Record<string, ServerItem>, value: string | undefined, asked: string[]][] =
    [
      // What the list says.
      [{ type: 'plain', value: 'open' }, {}, 'open', []],
      [{ type: 'system', value: 'open' }, {}, 'open', []],
      [{ type: 'encrypted', value: 'open', decrypted: true }, {}, 'open', []],
      [{ type: 'encrypted', value: '', decrypted: true }, {}, '', []],
      [{ type: 'sensitive', value: 'open', decrypted: true }, { [V1]: { value: 'open' } }, undefined, []],
      // What may be sealed, and what is not a string.
      [{ type: 'encrypted', value: 'sealed' }, { [V1]: { value: 'open' } }, 'open', [V1]],
      [
        { type: 'plain', value: 'sealed', decrypted: false },
        { [V1]: { value: 'open', decrypted: true } },
        'open',
        [V1],
      ],
      [{ type: 'plain', value: 7 }, { [V1]: { value: 'open' } }, 'open', [V1]],
      [{ type: 'secret', value: 'id', decrypted: false }, { [V1]: { value: '', decrypted: true } }, '', [V1]],
      // What the response for one variable says.
      [{ type: 'encrypted' }, { [V1]: { value: '' } }, undefined, [V1]],
      [{ type: 'encrypted' }, { [V1]: { value: 'sealed', decrypted: false } }, undefined, [V1]],
      [{ type: 'encrypted' }, { [V1]: { value: 7 } }, undefined, [V1]],
      [{ type: 'encrypted' }, { [V10]: { value: 'open' } }, 'open', [V1, V10]],
      [{ type: 'encrypted' }, {}, undefined, [V1, V10]],
    ]
  for (const [listed, answers, value, expected] of cases) {
    const asked: string[] = []
    const find = async (path: string) => {
      asked.push(path)
      return answers[path]
    }
    const read = await readServerValue({ find } as unknown as Server, 'web', { ...listed, id: 'env_1' })
    assert.deepEqual([read, asked], [value, expected], JSON.stringify([listed, answers]))
  }
})
