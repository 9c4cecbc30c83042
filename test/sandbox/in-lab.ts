/** Runs a shell script in a sandbox, from a namespace of test/sandbox/lab.ts, and prints the result as JSON. */
import { spawnSync } from 'node:child_process'
import { networkRules } from '../../src/sandbox/network/rules.ts'
import { runInSandbox } from './sandbox-world.ts'
import { withoutRules } from './without-rules.ts'

const { script, policy, rules, afterStart, isHeld } = JSON.parse(process.argv[2]!)

if (afterStart !== undefined) setTimeout(() => spawnSync('sh', ['-c', afterStart], { stdio: 'ignore' }), 1000)
const result = await runInSandbox(script, policy, { rulesOf: rules === 'none' ? withoutRules : networkRules, isHeld })
console.log(JSON.stringify(result))
