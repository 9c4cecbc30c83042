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
    ['MB in memory', ...stores.map(({ memory }) => memory?.toFixed(0) ?? '')],
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
    'errors',
  ]
  const rows = found.map((one) => [
    String(one.instances),
    one.gets.toFixed(0),
    one.creates.toFixed(0),
    one.lost.toFixed(2),
    one.together.toFixed(0),
    one.lostTogether.toFixed(2),
    String(one.errors),
  ])
  return [...aligned([head, ...rows]), 'No name was given twice.', ''].join('\n')
}
