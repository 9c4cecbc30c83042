/** What `--scale` found, as text. */
import type { InstancesResult } from './instances.ts'
import { aligned } from './report.ts'
import type { ScaleResult } from './scale.ts'

export function showScale({ stores, costs }: ScaleResult): string {
  const titles = stores.map(({ title }) => title)
  const facts = [
    ['store', ...titles],
    ['projects', ...stores.map(({ projects }) => String(projects))],
    ['seeded in s', ...stores.map(({ seconds }) => seconds.toFixed(0))],
    ['MB on disk', ...stores.map(({ megabytes }) => megabytes.toFixed(0))],
    ['start ms', ...stores.map(({ startMs }) => startMs.toFixed(0))],
    ['MB in memory', ...stores.map(({ memory: cache }) => cache?.toFixed(0) ?? '')],
  ]
  const rows = costs.map(({ title, ms, ratios }) => [
    title,
    ...ms.map((one, at) => `${one.toFixed(2)} (${ratios[at]!.toFixed(2)})`),
  ])
  const head = ['median ms (times the first)', ...titles]
  return [...aligned(facts), '', ...aligned([head, ...rows]), ''].join('\n')
}

export function showInstances(found: InstancesResult): string {
  const head = [
    'instances',
    'gets/s',
    'creates/s, own accounts',
    'lost of 100',
    'creates/s, one account',
    'lost of 100',
    'gets and creates/s',
    'lost of 100',
    'errors',
  ]
  const rows = found.map((one) => [
    one.title,
    one.gets.toFixed(0),
    one.creates.toFixed(0),
    one.lost.toFixed(2),
    one.together.toFixed(0),
    one.lostTogether.toFixed(2),
    one.mixed.toFixed(0),
    one.lostMixed.toFixed(2),
    String(one.errors),
  ])
  return [...aligned([head, ...rows]), 'No name was given twice.', ...compareBehindHaproxy(found), ''].join('\n')
}

/** Two instances behind HAProxy compared with one: not slower in total, and at most 2 of 100 writes retried. */
function compareBehindHaproxy(found: InstancesResult): string[] {
  const [one, two] = ['1', '2 behind HAProxy'].map((title) => found.find((setup) => setup.title === title))
  if (one === undefined || two === undefined) return []
  const ratios = [two.gets / one.gets, two.creates / one.creates, two.mixed / one.mixed].map((ratio) =>
    ratio.toFixed(2),
  )
  const lost = Math.max(two.lost, two.lostTogether, two.lostMixed).toFixed(2)
  return [
    `Two behind HAProxy compared with one: gets ${ratios[0]}, creates ${ratios[1]}, both ${ratios[2]}; at most ${lost} of 100 writes were run again.`,
  ]
}
