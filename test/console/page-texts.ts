/** What a user reads on each page of the console, as page-texts.txt keeps it. docs/testing.md: Texts of pages. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readPage } from '../support/clients/page-text.ts'

const KEPT = join(import.meta.dirname, 'page-texts.txt')

/** TABLE pages that read otherwise on another machine or day, each with its reason. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  '/console': 'it leads on',
  '/console/t/:slug/projects/:name/domains/:domain/dns': 'the name servers of the machine',
  '/console/t/:slug/projects/:name/domains/:domain/answers': 'the name servers of the machine',
  '/console/operator': 'the versions of programs, and counts of what runs',
  '/console/operator/attention': 'the checks of the machine',
  '/console/operator/health': 'the checks of the machine',
  '/console/operator/health/checks': 'the checks of the machine',
  '/console/operator/keys': 'the keys, which are rewrapped meanwhile',
  '/console/operator/timers': 'what ran meanwhile',
  '/console/operator/audit': 'what ran meanwhile',
  '/console/operator/audit/verify': 'what ran meanwhile',
}

const TIME = /(?<=<time[^>]*>)[^<]*/g
/** Where a service of a test keeps its backups. */
const FOLDER = /(?<=[ =])\/(?!console\/)\S+\/backups\b/g
const ID = /\b([a-z]{2,9})_[0-9A-Za-z]{20,}/g
/** What the service adds to the name of a deployment. */
const SUFFIX = /\b(web|other)-[0-9a-z]{9}\b/g

/** Compares the pages with the file. With `BERTH_TEST_WRITE` it writes them to the file instead. */
export function mustReadAsKept(pages: readonly { path: string; text: string }[]): void {
  const read = new Map(pages.filter(({ path }) => !(path in LEFT_OUT)).map(({ path, text }) => [path, steady(text)]))
  if (process.env.BERTH_TEST_WRITE)
    writeFileSync(KEPT, [...read].map(([path, text]) => `== ${path}\n${text}\n`).join('\n'))
  const parts = readFileSync(KEPT, 'utf8')
    .trimEnd()
    .split(/\n*^== /m)
    .slice(1)
  const kept = new Map(parts.map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1)]))
  assert.deepEqual([...read.keys()], [...kept.keys()])
  for (const [path, text] of read)
    assert.deepEqual(text.split('\n'), kept.get(path)!.split('\n'), `${path} reads otherwise: docs/testing.md`)
}

/** The lines of a page, with what differs in each run numbered or left out. */
function steady(text: string): string {
  const ids = new Map<string, number>()
  return readPage(text.replaceAll(TIME, 'TIME'))
    .join('\n')
    .replaceAll(FOLDER, 'FOLDER')
    .replaceAll(SUFFIX, '$1-SUFFIX')
    .replaceAll(ID, (id, kind: string) => {
      const number = ids.get(id) ?? ids.size + 1
      ids.set(id, number)
      return `${kind}_${number}`
    })
}
