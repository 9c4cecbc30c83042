/**
 * Runs in the lab of test/sandbox/lab.ts, with functions that have a network. `probe`: runs the script of standard input in a function, and prints its
 * output. `tenants`: prints what functions of one and of another project reach of a service of the first.
 */
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { withoutRules } from '../../sandbox/without-rules.ts'
import { functionOf, showFunctions } from './function-site.ts'
import { RUN, runInside, sandboxedWith } from './run-inside.ts'
import { connectTo, LISTEN, showTenants } from './tenants.ts'

const ends: (() => unknown)[] = []
const t = { after: (end: () => unknown) => void ends.push(end) } as unknown as TestContext
const [what, rules] = process.argv.slice(2)
const own = sandboxedWith(undefined, 'internet', rules === 'none' ? withoutRules : undefined)
try {
  if (what === 'probe') {
    const { visit } = await showFunctions(t, functionOf('api/run', RUN), { own })
    console.log(await runInside(visit, await text(process.stdin)))
  } else {
    const { one, other } = await showTenants(t, own)
    await one(LISTEN)
    console.log(JSON.stringify({ same: await one(connectTo(), '/api/second'), other: await other(connectTo()) }))
  }
} finally {
  for (const end of ends.toReversed()) await end()
}
process.exit(0)
