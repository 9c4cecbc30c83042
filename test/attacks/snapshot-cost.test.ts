/** What a change costs, compared with all. docs/deploying-sites.md: Data of the sites server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FactLine, readLine } from '../../src/delivery/protocol/snapshot.ts'
import { createChangeRing } from '../../src/operations/edge/change-ring.ts'
import { allLines, linesOf, textOf } from '../../src/operations/edge/site-lines.ts'
import { createHostIndex } from '../../src/platform/verdict/hosts.ts'
import { createSiteIndex } from '../../src/sites/snapshot/site-index.ts'

const NAMES = 100_000
const CHANGES = 1000

/** Processor time of this process, in ms. */
async function cost(work: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

test('a thousand changes, each among 100,000 names, cost both sides less than all names once', async () => {
  const control = createHostIndex()
  const setName = (at: number, deploymentId: string) => {
    const name = `host-${at}.example.com`
    const domain = {
      name,
      projectId: `p${at % 100}`,
      redirect: null,
      redirectStatusCode: null,
      ofBranch: false,
      deploymentId,
    }
    control.setName(name, { name, domain })
    return name
  }
  for (let at = 0; at < 100; at++) {
    control.setProject(`p${at}`, { id: `p${at}`, paused: false, liveDeploymentId: null, protection: undefined })
    for (const id of [`d${at}`, `e${at}`])
      control.setDeployment(id, {
        id,
        projectId: `p${at}`,
        url: `${id}.test`,
        ready: true,
        production: true,
        upstream: null,
        output: { accountId: `a${at}`, digest: 'a1'.repeat(32), size: 1000 },
      })
  }
  for (let at = 0; at < NAMES; at++) setName(at, `d${at % 100}`)
  const sites = createSiteIndex()
  const count = { lines: 0 }
  const all = await cost(async () => {
    let text = ''
    for await (const piece of allLines(control, count)) {
      text += piece
      const lines = text.split('\n')
      text = lines.pop()!
      for (const line of lines) sites.apply(readLine(line) as FactLine)
    }
  })
  assert.equal(count.lines, NAMES + 200)

  const ring = createChangeRing(60_000)
  let place = ring.place()
  const changes = await cost(() => {
    for (let at = 0; at < CHANGES; at++) {
      const name = setName(at * 97, `e${(at * 97) % 100}`)
      ring.add([{ key: `domain ${name}`, stamp: at }])
      const page = ring.next(place, 1000)!
      place = page.place
      for (const line of linesOf(control, page.keys)) sites.apply(readLine(textOf(line).trimEnd()) as FactLine)
      const { serving } = sites.hosts.find(name)
      assert.equal(serving.kind === 'live' && serving.deploymentId, `e${(at * 97) % 100}`)
    }
  })
  assert.ok(changes < all, `${CHANGES} changes took ${changes} ms of processor time, all took ${all} ms`)
})
