/** Attacks from inside the sandbox, each with a control: without the layer that stops it, it succeeds. docs/sandbox.md. */
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { canRun, skipReason } from '../support/programs.ts'
import { ATTACKS } from './attack-table.ts'
import { runInSandbox, sandboxSkipReason, without } from './sandbox-world.ts'

const skip =
  sandboxSkipReason() || (canRun('python3', '--version') ? false : skipReason('python3', 'python3', 'attacks'))

for (const { what, script, stopped, control, succeeds } of ATTACKS)
  test(`no command inside ${what}`, { skip, timeout: 300_000 }, async () => {
    const inside = await runInSandbox(script)
    assert.match(inside.output, stopped)
    assert.match((await runInSandbox(script, {}, { change: control })).output, succeeds, 'the control')
  })

test('a service of the host cannot be reached, neither by its address nor by an abstract socket', {
  skip,
  timeout: 300_000,
}, async (t) => {
  let reached = 0
  const server = createServer((socket) => socket.end(String(++reached)))
  const abstract = createServer((socket) => socket.end(String(++reached)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const name = `berth-test-${process.pid}`
  await new Promise<void>((resolve) => abstract.listen(`\0${name}`, resolve))
  t.after(() => server.close())
  t.after(() => abstract.close())
  const { port } = server.address() as { port: number }
  const script = `python3 -c "
import socket
for family, address in ((socket.AF_INET, ('127.0.0.1', ${port})), (socket.AF_UNIX, chr(0) + '${name}')):
  s = socket.socket(family)
  s.settimeout(5)
  try:
    s.connect(address)
    s.recv(1)
    print('reached')
  except OSError as error: print(type(error).__name__)"`
  const inside = await runInSandbox(script)
  assert.match(inside.output, /^ConnectionRefusedError\nConnectionRefusedError\n$/)
  assert.equal(reached, 0)
  assert.match(
    (await runInSandbox(script, {}, { change: without(['--unshare-net']) })).output,
    /^reached\nreached\n$/,
    'the control',
  )
})

test('the environment of the service is not seen, and that of the command is in no command line', {
  skip,
}, async () => {
  process.env.BERTH_SANDBOX_TEST = 'of the service'
  try {
    const script = 'cat /proc/1/cmdline /proc/1/environ; echo; env'
    const { output } = await runInSandbox(script, { env: { PATH: '/usr/bin', TOKEN: 'of-the-command' } })
    assert.equal(output.includes('of the service'), false)
    const [outside, ...inside] = output.split('\n')
    assert.equal(outside!.includes('of-the-command'), false)
    assert.ok(inside.includes('TOKEN=of-the-command'))
  } finally {
    delete process.env.BERTH_SANDBOX_TEST
  }
})
