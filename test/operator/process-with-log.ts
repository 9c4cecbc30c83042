/** The program with its log going where a test says. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { credentialsOf, newHome } from '../support/process.ts'
import { root } from '../support/root.ts'

/** Starts the program with this stdout, and waits until it is ready. */
export async function launch(t: TestContext, stdout: 'pipe' | number, env: Record<string, string> = {}) {
  const home = await newHome(t, 'sqlite')
  const port = String(20_000 + Math.floor(Math.random() * 20_000))
  const child = spawn(process.execPath, [join(root, 'bin', 'berth.mjs')], {
    cwd: root,
    env: { PATH: process.env.PATH, ...home.env, PORT: port, BERTH_LOG_LEVEL: 'debug', ...env },
    stdio: ['ignore', stdout, 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  const address = `http://127.0.0.1:${port}`
  const ready = async () => {
    for (let tries = 0; tries < 200; tries++) {
      const answer = await fetch(`${address}/readyz`).catch(() => undefined)
      if (answer?.status === 200) return
      await sleep(50)
    }
    assert.fail('it is not ready')
  }
  const dropped = async () => {
    const { operatorToken } = credentialsOf(home)
    const answer = await fetch(`${address}/metrics`, { headers: { authorization: `Bearer ${operatorToken}` } })
    return Number(/^berth_log_lines_dropped_total (\d+)$/m.exec(await answer.text())?.[1])
  }
  const ended = once(child, 'exit')
  return { child, home, address, ready, dropped, ended }
}
