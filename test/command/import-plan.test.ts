/** What a plan of an import counts, sends and gives up. docs/moving-in.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refused } from '../../src/command/ask.ts'
import { addPlan, newReport, sendHalves, tried } from '../../src/command/import/plan.ts'
import type { Server } from '../../src/command/import/server.ts'
import { variableSteps } from '../../src/command/import/variables.ts'

test('changes are told one by one, up to 200, and all are counted', () => {
  const report = newReport()
  const names = Array.from({ length: 300 }, (_, at) => `web: K${at}`)
  addPlan(report, {
    steps: [{ kind: 'variable', action: 'change', names, run: async () => [] }],
    same: { domain: 2 },
    todo: ['by hand'],
  })
  assert.deepEqual([report.changes.length, report.changes.at(-1)], [200, 'variable web: K199'])
  assert.deepEqual([report.counts.variable.changed, report.counts.domain.unchanged, report.todo], [300, 2, ['by hand']])
})

test('a refusal of the thing stands alone; one of the person, and what is no refusal, end the import', async () => {
  const refused = (status: number) => async () => {
    throw new Refused(status, { message: `says ${status}` })
  }
  for (const status of [400, 402, 403, 409, 413, 422, 428])
    assert.deepEqual(await tried(refused(status)), { message: `says ${status}` })
  for (const status of [401, 404, 429, 500]) await assert.rejects(tried(refused(status)), new RegExp(`says ${status}`))
  const broken = async () => {
    throw new TypeError('a bug')
  }
  await assert.rejects(tried(broken), /a bug/)
})

test('what is refused together is sent in halves, until those that are refused stand alone', async () => {
  const sent: number[][] = []
  const send = async (items: readonly number[]) => {
    sent.push([...items])
    if (items.includes(3)) throw new Refused(400, { message: 'not 3' })
    return []
  }
  assert.deepEqual(await sendHalves([1, 2, 3, 4], String, send), [{ what: '3', message: 'not 3' }])
  assert.deepEqual(sent, [[1, 2, 3, 4], [1, 2], [3, 4], [3], [4]])
  assert.deepEqual(await sendHalves([], String, () => assert.fail('nothing is sent')), [])
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
