/** The files of the embedded store are taken away while the program has them open: it acknowledges nothing that would be gone. docs/spec/reliability.md F7. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, copyFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { credentialsOf, newHome, sendRequest, startService } from '../../support/process.ts'

/** What an operator may do to the file of a running service. */
const TAKEN: Record<string, { lost: string; take: (file: string) => void }> = {
  'the store is removed': { lost: 'berth.db', take: (file) => rmSync(file) },
  'the store is moved away': { lost: 'berth.db', take: (file) => renameSync(file, `${file}.old`) },
  'another file is put in its place': {
    lost: 'berth.db',
    take: (file) => {
      copyFileSync(file, `${file}.copy`)
      renameSync(`${file}.copy`, file)
    },
  },
  'its log is removed': { lost: 'berth.db-wal', take: (file) => rmSync(`${file}-wal`) },
  'its lock is removed': { lost: 'berth.db-lock', take: (file) => rmSync(`${file}-lock`) },
}

for (const [name, { lost, take }] of Object.entries(TAKEN)) {
  test(`${name}: the next write is not acknowledged, and the process ends and says why [sqlite]`, {
    timeout: 300_000,
  }, async (t) => {
    const home = await newHome(t, 'sqlite')
    const running = await startService(t, home)
    const { token } = credentialsOf(home)
    const create = async (name: string) =>
      (await sendRequest(running, token, 'POST', '/v10/projects', { name }))?.status
    const file = join(home.folder, 'berth.db')
    assert.equal(await create('one'), 200)
    chmodSync(file, 0o600)
    assert.equal(await create('two'), 200, 'the same file, whatever else was done to it')
    const gone = once(running.child, 'close')
    take(file)
    assert.equal(await create('three'), undefined)
    await gone
    assert.equal(running.child.exitCode, 1)
    assert.match(running.out() + running.err(), new RegExp(`${lost} was removed or replaced while`))
  })
}
