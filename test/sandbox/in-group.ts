/** Runs in a control group of its own: what the groups of sandboxes stop. Prints the result as JSON. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { controlGroups, ownGroup } from '../../src/sandbox/limits/control-group.ts'
import { DEFAULT_LIMITS } from '../../src/sandbox/policy.ts'
import { type Change, runInSandbox } from './sandbox-world.ts'

const MIB = 1024 * 1024
const base = ownGroup(readFileSync('/proc/self/mountinfo', 'utf8'), readFileSync('/proc/self/cgroup', 'utf8'))!
const groups = await controlGroups()
if (groups === undefined) console.log(JSON.stringify({ controllers: [] }))
else {
  const limits = { ...DEFAULT_LIMITS, memoryBytes: 128 * MIB, processes: 40 }
  const python = (code: string) => `python3 -c "\n${code}"`
  const eats = python(`held = []\nfor mib in range(400): held.append(bytearray(b'x' * ${MIB}))\nprint('all')`)
  const fills = 'head -c 200000000 /dev/zero > /tmp/x && echo written'
  const files = python(
    "import os\nfor n in range(2000000): os.close(os.open(f'/tmp/{n}', os.O_CREAT))\nprint('two million')",
  )
  const forks = python(
    'import os, time\nn = 0\ntry:\n  while n < 400:\n    if os.fork() == 0: time.sleep(60)\n    n += 1\nexcept OSError: pass\nprint(n)',
  )
  const roomy = { limits: { ...limits, memoryBytes: 1024 * MIB } }
  // The control group stands behind the limit of the user namespace.
  const withoutRlimit: Change = ({ options, command }) => ({
    options,
    command: command.filter((word) => !word.startsWith('--nproc')),
  })
  console.log(
    JSON.stringify({
      controllers: groups.controllers,
      memory: await runInSandbox(eats, { limits }),
      memoryControl: await runInSandbox(eats, roomy),
      file: await runInSandbox(fills, { limits }),
      fileControl: await runInSandbox(fills, roomy),
      emptyFiles: await runInSandbox(files, { limits }),
      forks: await runInSandbox(forks, { limits }, { change: withoutRlimit }),
      inside: await runInSandbox('cat /proc/self/cgroup; ls /sys/fs/cgroup', { limits }),
      left: readdirSync(base).filter((name) => existsSync(join(base, name, 'cgroup.procs'))),
    }),
  )
}
