/** Stands in for the module with which the fixtures of `build-output-router` describe their cases (MIT): collects the cases and runs nothing. */

export type SuiteFile = { type: string; headers: Record<string, string>; path?: string; entrypoint?: string }
export type SuiteCase = {
  name: string
  paths: string[]
  input: { host?: string; headers?: Record<string, string>; method?: string }
  expected: { status: number; data: string; headers?: Record<string, string> }
}
export type SuiteSet = { name: string; config: object; fileSystem: Record<string, SuiteFile>; cases: SuiteCase[] }

export const sets: SuiteSet[] = []

export function runTestSet(set: SuiteSet): void {
  sets.push(set)
}

export function staticAsset(path: string, headers: Record<string, string> = {}): Record<string, SuiteFile> {
  return { [path]: { type: 'static', headers } }
}

/** A page has two paths there, with and without its ending. */
export function htmlAsset(path: string): Record<string, SuiteFile> {
  const file = { type: 'static', headers: { 'content-type': 'text/html; charset=utf-8' }, path: `${path}.html` }
  return { [path]: file, [`${path}.html`]: file }
}

export function functionAsset(path: string): Record<string, SuiteFile> {
  const file = { type: 'function', headers: {}, entrypoint: path }
  return { [path]: file, ...(path.endsWith('/index') && { [path.replace('/index', '/')]: file }) }
}
