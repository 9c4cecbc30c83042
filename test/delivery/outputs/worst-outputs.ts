/** TABLE the worst uploads of each kind, at a share of the limits. */
import { readOutput, type Upload } from '../../../src/delivery/outputs/output.ts'
import type { Worst } from '../../attacks/costs.ts'
import { nodeFunction, outputUpload, uploadOf } from './upload.ts'

const UPLOADS: Readonly<Record<string, (share: number) => Upload>> = {
  'patterns with nested repetitions': (share) =>
    outputUpload({ routes: repeat(share * 1000, () => ({ src: nested(440) })) }),
  'patterns with 2,000 groups': (share) =>
    outputUpload({ routes: repeat(share * 1000, () => ({ src: '()'.repeat(2040) })) }),
  'conditions by the thousand': (share) =>
    outputUpload({
      routes: repeat(share * 1500, () => ({
        src: '/',
        has: repeat(16, () => ({ type: 'query', key: 'a', value: 'b.*' })),
      })),
    }),
  'cron jobs on dates that never come': (share) =>
    outputUpload({ crons: repeat(share * 100, (at) => ({ path: '/', schedule: `${at % 60} 0-23 30,31 2 *` })) }),
  'overrides of every file': (share) =>
    outputUpload(
      { overrides: record(share * 19_000, (at) => [`f${at}`, { path: `p${at}`, contentType: 'a/b' }]) },
      record(share * 19_000, (at) => [`static/f${at}`, '']),
    ),
  'paths of 60 folders': (share) =>
    namesOf(repeat(share * 2000, (at) => `${at}/${`${'a'.repeat(14)}/`.repeat(60)}${at}`)),
  'accents out of their order': (share) =>
    namesOf(repeat(share * 4000, (at) => `${at}/a${'\u0301'.repeat(60)}${'\u0323'.repeat(60)}`)),
  'a chain of 19,000 links': (share) =>
    outputUpload(
      {},
      record(share * 19_000, (at) => [`static/l${at}`, { link: `l${at + 1}` }]),
    ),
  'functions by the thousand': (share) =>
    outputUpload({}, Object.assign({}, ...repeat(share * 5000, (at) => nodeFunction(`f${at}`)))),
  'filePathMap at its limit': (share) => {
    const filePathMap = record(share * 19_000, (at) => [`m${at}`, '.vercel/output/static/a'])
    return outputUpload(
      {},
      { 'static/a': '', ...Object.assign({}, ...repeat(5, (at) => nodeFunction(`f${at}`, { filePathMap }))) },
    )
  },
  'brackets without end': (share) => uploadOf({ '.vercel/output/config.json': '['.repeat(share * 4_000_000) }),
}

function nested(depth: number): string {
  return `${'(?:'.repeat(depth)}a${'{1,9})'.repeat(depth)}`
}

function repeat<T>(count: number, make: (at: number) => T): T[] {
  return Array.from({ length: count }, (_, at) => make(at))
}

function record<T>(count: number, make: (at: number) => [string, T]): Record<string, T> {
  return Object.fromEntries(repeat(count, make))
}

function namesOf(paths: string[]): Upload {
  const entries = paths.map((path) => ({ path, kind: 'file' as const, size: 1, mode: 0o100644, digest: '' }))
  return { entries, read: async () => new Uint8Array() }
}

export const WORST: Worst = Object.fromEntries(
  Object.entries(UPLOADS).map(([name, make]) => [
    name,
    (share) => {
      const upload = make(share)
      return () => readOutput(upload)
    },
  ]),
)
