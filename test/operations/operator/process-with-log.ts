/** The program with its log going where a test says. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { credentialsOf, newHome } from '../../support/process.ts'
import { root } from '../../support/root.ts'
import { freePort } from '../../support/servers/free-port.ts'

/** Starts the program with this stdout, and waits until it is ready. */
export async function launch(t: TestContext, stdout: 'pipe' | number, env: Record<string, string> = {}) {
  const home = await newHome(t, 'sqlite')
  const port = String(await freePort())
  const child = spawn(process.execPath, [join(root, 'bin', 'berth.mjs')], {
    cwd: root,
    env: { PATH: process.env.PATH, ...home.env, PORT: port, BERTH_LOG_LEVEL: 'debug', ...env },
    stdio: ['ignore', stdout, 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  const address = `http://127.0.0.1:${port}`
  const ready = async () => {
    await eventually(async () => {
      assert.equal(child.exitCode, null, 'it ended')
      return (await fetch(`${address}/readyz`).catch(() => undefined))?.status === 200
    })
  }
  const dropped = async () => {
    const { operatorToken } = credentialsOf(home)
    const answer = await fetch(`${address}/metrics`, { headers: { authorization: `Bearer ${operatorToken}` } })
    return Number(/^berth_log_lines_dropped_total (\d+)$/m.exec(await answer.text())?.[1])
  }
  const ended = once(child, 'exit')
  return { child, home, address, ready, dropped, ended }
}
