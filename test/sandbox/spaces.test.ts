/** Sandboxes of one name share a space, which ends after the last. docs/sandbox.md: A namespace for several sandboxes. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import { createSpace, openSandboxSpace, type SandboxSpace } from '../../src/sandbox/space/space.ts'
import { openSpaces } from '../../src/sandbox/space/spaces.ts'
import { eventually } from '../support/eventually.ts'

/** Longer than any test. */
const NEVER_MS = 2 ** 31 - 1

type Opened = { space: SandboxSpace; isClosed: boolean; end(): void }

/** Counts real spaces of the kind that needs no program. `end`: as if its network had ended. */
function openCounted(t: TestContext, kept: { ms: number; spaces: number }) {
  const parent = mkdtempSync(join(tmpdir(), 'berth-spaces-'))
  t.after(() => rmSync(parent, { recursive: true, force: true }))
  const opened: Opened[] = []
  const failures: Error[] = []
  const spaces = openSpaces(async () => {
    const failure = failures.pop()
    if (failure !== undefined) throw failure
    const real = await openSandboxSpace('trusted', parent, undefined, 'internet')
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    const close = () => {
      one.isClosed = true
      return real.close()
    }
    const one: Opened = { space: { ...real, ended, close }, isClosed: false, end }
    opened.push(one)
    return one.space
  }, kept)
  return { spaces, opened, failures }
}

test('sandboxes of one name share a space, and those of another do not', async (t) => {
  const { spaces, opened } = openCounted(t, { ms: NEVER_MS, spaces: 8 })
  await Promise.all([spaces.createSandbox('shop'), spaces.createSandbox('shop')])
  assert.equal(opened.length, 1)
  await spaces.createSandbox('blog')
  assert.equal(opened.length, 2)
  await spaces.close()
  assert.deepEqual(
    opened.map(({ isClosed }) => isClosed),
    [true, true],
  )
})

test('a space ends after its last sandbox, and the next one opens another', async (t) => {
  const { spaces, opened } = openCounted(t, { ms: 0, spaces: 8 })
  const [one, other] = [await spaces.createSandbox('shop'), await spaces.createSandbox('shop')]
  await one.destroy()
  await one.destroy()
  await spaces.createSandbox('blog').then((sandbox) => sandbox.destroy())
  await eventually(() => opened[1]!.isClosed)
  assert.equal(opened[0]!.isClosed, false, 'one sandbox is left, although the other was destroyed twice')
  await other.destroy()
  await eventually(() => opened[0]!.isClosed)
  await spaces.createSandbox('shop')
  assert.equal(opened.length, 3)
  await spaces.close()
})

test('a space without sandboxes is kept for the next one for a while', async (t) => {
  const { spaces, opened } = openCounted(t, { ms: NEVER_MS, spaces: 8 })
  await spaces.createSandbox('shop').then((sandbox) => sandbox.destroy())
  await spaces.createSandbox('shop')
  assert.equal(opened.length, 1)
  await spaces.close()
})

test('few spaces without sandboxes are kept, those of the latest use', async (t) => {
  const { spaces, opened } = openCounted(t, { ms: NEVER_MS, spaces: 2 })
  const use = async (name: string) => (await spaces.createSandbox(name)).destroy()
  const used = await spaces.createSandbox('in use')
  for (const name of ['first', 'second', 'first', 'third']) await use(name)
  await eventually(() => opened[2]!.isClosed)
  assert.deepEqual(
    opened.map(({ isClosed }) => isClosed),
    [false, false, true, false],
    'that of the second one alone is closed',
  )
  await used.destroy()
  await eventually(() => opened[1]!.isClosed)
  await spaces.close()
})

test('no sandbox starts once all are closed', async (t) => {
  const { spaces, opened } = openCounted(t, { ms: NEVER_MS, spaces: 8 })
  await spaces.close()
  await assert.rejects(spaces.createSandbox('shop'), /closed/)
  assert.equal(opened.length, 0)
})

test('a space that ended, or did not start, is replaced', async (t) => {
  const { spaces, opened, failures } = openCounted(t, { ms: NEVER_MS, spaces: 8 })
  failures.push(new Error('pasta: /dev/net/tun is closed to this user'))
  await assert.rejects(spaces.createSandbox('shop'), /is closed to this user/)
  await spaces.createSandbox('shop')
  opened[0]!.end()
  await opened[0]!.space.ended
  await spaces.createSandbox('shop')
  assert.equal(opened.length, 2)
  await spaces.close()
})

test('the network of a space ends also where a sandbox cannot be removed', async () => {
  const stuck = { destroy: () => Promise.reject(new Error('cannot remove the control group')) } as unknown as Sandbox
  let isHeld = true
  const close = async () => {
    isHeld = false
  }
  const space = createSpace(() => stuck, { lost: Promise.resolve(), close })
  space.createSandbox()
  await assert.rejects(space.close(), /cannot remove/)
  assert.equal(isHeld, false)
})
