/** The index that a sites server fills by lines. docs/deploying-sites.md: Data of the sites server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BadSnapshot, type FactLine, readHostFacts, readLine } from '../../../src/delivery/protocol/snapshot.ts'
import { requiresAdmission } from '../../../src/platform/verdict/admission.ts'
import { createSiteIndex } from '../../../src/sites/snapshot/site-index.ts'
import { deployment, gone, name, project } from './lines.ts'

test('names, what they serve and what is gone give what the edge would say', () => {
  const { hosts, apply } = createSiteIndex()
  const serving = (host: string) => hosts.find(host).serving.kind
  for (const line of [name('a.com', 'd1'), deployment('d1'), project('p1')]) apply(line)
  assert.deepEqual(hosts.find('a.com').serving, {
    kind: 'live',
    projectId: 'p1',
    deploymentId: 'd1',
    upstream: null,
    output: null,
  })
  apply(project('p1', { paused: true }))
  assert.equal(serving('a.com'), 'paused')
  apply({ kind: 'name', name: 'claimed.com' })
  assert.deepEqual([serving('claimed.com'), serving('x.com')], ['unverified', 'unknown'])
  apply(gone('name', 'a.com'))
  assert.equal(serving('a.com'), 'unknown')
})

test('a deployment of a control plane of before outputs has none, and an output that is none is refused', () => {
  const { hosts, apply } = createSiteIndex()
  const { output: _, ...before } = deployment('d1')
  const outputOf = (line: object) => {
    for (const one of [name('a.com', 'd1'), readLine(JSON.stringify(line)) as FactLine, project('p1')]) apply(one)
    const { serving } = hosts.find('a.com')
    return serving.kind === 'live' && serving.output
  }
  const output = { accountId: 'a1', digest: 'a1'.repeat(32), size: 0 }
  assert.equal(outputOf(before), null)
  assert.deepEqual(outputOf({ ...before, output }), output)
  assert.equal(outputOf({ ...before, output: null }), null)
  for (const wrong of [{ digest: '../a' }, { digest: 'A1'.repeat(32) }, { size: -1 }, { size: 0.5 }, { accountId: 1 }])
    assert.throws(() => outputOf({ ...before, output: { ...output, ...wrong } }), BadSnapshot, JSON.stringify(wrong))
})

test('what a protection covers keeps all visitors out, with any password, address or secret', () => {
  const { hosts, apply } = createSiteIndex()
  for (const line of [name('a.com', 'd1'), deployment('d1'), project('p1')]) apply(line)
  assert.equal(requiresAdmission(hosts.find('a.com').guard), false)
  for (const part of ['password', 'signIn', 'trustedIps']) {
    for (const [covers, isClosed] of [
      ['all', true],
      ['preview', false],
    ] as const) {
      apply(project('p1', { protection: { [part]: covers } }))
      assert.equal(requiresAdmission(hosts.find('a.com').guard), isClosed, `${part} ${covers}`)
    }
  }
})

test('what no name serves is not kept, so that the index does not grow with each deployment', () => {
  const { hosts, apply } = createSiteIndex()
  const ids = () => [[...hosts.facts.deployments.keys()], [...hosts.facts.projects.keys()]]
  for (const line of [deployment('d0'), project('p0'), name('a.com', 'd1'), name('b.com', 'd1')]) apply(line)
  for (const line of [deployment('d1'), project('p1')]) apply(line)
  assert.deepEqual(ids(), [['d1'], ['p1']])
  for (const line of [name('a.com', 'd2'), deployment('d2'), project('p1')]) apply(line)
  assert.deepEqual(ids(), [['d1', 'd2'], ['p1']])
  apply(name('b.com', 'd2'))
  assert.deepEqual(ids(), [['d2'], ['p1']])
  for (const one of ['a.com', 'b.com']) apply(gone('name', one))
  assert.deepEqual(ids(), [[], []])
})

test('its lines make an equal index, whatever was applied before', () => {
  const id = fc.constantFrom('1', '2', '3')
  const line: fc.Arbitrary<FactLine> = fc.oneof(
    fc.tuple(id, id, id).map(([one, of, to]) => name(`${one}.com`, `d${to}`, `p${of}`)),
    fc.tuple(id, fc.boolean()).map(([one, ready]) => deployment(`d${one}`, { ready })),
    fc.tuple(id, fc.boolean()).map(([one, paused]) => project(`p${one}`, { paused })),
    fc
      .tuple(fc.constantFrom('name', 'deployment', 'project'), id)
      .map(([of, one]) => gone(of as 'name', of === 'name' ? `${one}.com` : `${of[0]}${one}`)),
  )
  fc.assert(
    fc.property(fc.array(line, { maxLength: 40 }), (lines) => {
      const [one, other] = [createSiteIndex(), createSiteIndex()]
      for (const each of lines) one.apply(each)
      for (const each of one.lines()) other.apply(JSON.parse(JSON.stringify(each)))
      assert.deepEqual([...other.lines()], [...one.lines()])
      for (const host of ['1.com', '2.com', '3.com']) assert.deepEqual(other.hosts.find(host), one.hosts.find(host))
    }),
  )
})

test('a line of another version, of an unknown kind or with a wrong field is refused by a sentence; unknown fields are ignored', () => {
  const refused: [string, RegExp][] = [
    ['{"kind":"head","protocol":2,"all":true}', /version 2 .*version 1.*same Berth/],
    ['{"kind":"purge","tag":"a"}', /kind "purge"/],
    ['{"kind":"gone","of":"account","id":"a"}', /wrong line/],
    ['{"kind":"project","id":"a","paused":"no","liveDeploymentId":null}', /paused/],
    ['[]', /kind undefined/],
    ['nonsense', /not a JSON object/],
    ['null', /not a JSON object/],
    [`"${'x'.repeat(70_000)}"`, /more than/],
  ]
  for (const [text, sentence] of refused)
    assert.throws(
      () => readLine(text),
      (error) => error instanceof BadSnapshot && sentence.test(error.message),
      text,
    )
  assert.throws(() => readHostFacts('{"protocol":2}'), BadSnapshot)
  assert.equal(readLine(JSON.stringify({ ...gone('name', 'a'), later: 1 })).kind, 'gone')
})
