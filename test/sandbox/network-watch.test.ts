/** A sandbox whose network never starts is ended, and one that ends on its own is not. docs/sandbox.md: Network. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostNetwork } from '../../src/sandbox/network/host-addresses.ts'
import { watchAddresses } from '../../src/sandbox/network/watch.ts'
import { eventually } from '../support/eventually.ts'
import { RUN_AS } from './run-as.ts'

/** Watches a sandbox whose first process is there at the first `present` looks. Returns how often it was ended within ten more. */
async function endsOf(present: number): Promise<number> {
  let [looks, ends] = [0, 0]
  const find = () => (looks++ < present ? process.pid : undefined)
  const times = { intervalMs: 1, startMs: 0 }
  const stop = watchAddresses(find, hostNetwork(), RUN_AS, () => ends++, times)
  await eventually(() => ends > 0 || looks > present + 10)
  stop()
  return ends
}

test('a sandbox whose first process has ended is not ended by the look at addresses', async () => {
  assert.equal(await endsOf(3), 0)
  assert.equal(await endsOf(0), 1, 'the control: it never started')
})
