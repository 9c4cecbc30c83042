/** Reads the recipes of deploy/. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { METRICS } from '../../src/metrics.ts'
import { root } from '../support/root.ts'

// biome-ignore lint/suspicious/noExplicitAny: a manifest is walked as JSON
export type Json = any

/** The documents of a YAML file. Throws where it is not YAML, or says a key twice. */
export function documentsOf(file: string): Json[] {
  return parseAllDocuments(readFileSync(join(root, file), 'utf8')).map((document) => {
    if (document.errors.length > 0) throw document.errors[0]
    return document.toJS()
  })
}

/** The one container of a manifest of Kubernetes. */
export function containerOf(file: string): Json {
  const workload = documentsOf(file).find(({ spec }) => spec.template !== undefined)
  return workload.spec.template.spec.containers[0]
}

/** The lines of a systemd unit: name and text, in order. */
export function unitOf(file: string): [name: string, text: string][] {
  const lines = readFileSync(join(root, file), 'utf8').split('\n')
  return lines.flatMap((line) => {
    const [, name, text] = /^(\w+)=(.*)$/.exec(line) ?? []
    return name === undefined ? [] : [[name, text!] as [string, string]]
  })
}

/** The figures that an expression of Prometheus asks for. Throws where Berth has none of that name. */
export function metricsIn(expr: string): string[] {
  const bare = expr.replaceAll(/"[^"]*"/g, '')
  const names = bare.match(/\b(berth|process|nodejs)_\w+|\bup\b/g) ?? []
  for (const name of names) {
    const known =
      name === 'up' || Object.hasOwn(METRICS, name.replace(/_(bucket|sum|count)$/, '')) || Object.hasOwn(METRICS, name)
    if (!known) throw new Error(`${name} is not a figure of src/metrics.ts: ${expr}`)
  }
  return names
}
