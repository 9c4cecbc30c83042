/** The unit takes from Berth what it does not use, as systemd itself judges. docs/deploying.md: systemd. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { sharedWatches } from '../../src/sandbox/limits/epoll-watches.ts'
import { canRun, skipReason } from '../support/programs.ts'
import { root } from '../support/root.ts'
import { unitOf } from './recipes.ts'

const STRICT = ['DynamicUser', 'NoNewPrivileges', 'PrivateTmp']

/** Builds and functions need the namespaces of sandboxes. */
const SANDBOXES = ['PrivateTmp', 'ProtectHome', 'ProtectKernelModules']

/** TABLE unit -> what it runs, the exposure that it has at most, and lines that it has. */
const UNITS = {
  'berth.service': { word: 'serve', most: 2, lines: STRICT },
  'berth-sites.service': { word: 'sites', most: 5.3, lines: SANDBOXES },
  'berth-runner.service': { word: 'runner', most: 5.3, lines: SANDBOXES },
}
const skip = canRun('systemd-analyze', '--version')
  ? false
  : skipReason('systemd-analyze', 'systemd', 'the systemd unit')

for (const [unit, { word, most, lines }] of Object.entries(UNITS)) {
  const file = join(root, 'deploy', unit)

  test(`systemd-analyze gives ${unit} at most ${most} of 10 (none is better)`, { skip }, () => {
    const judged = execFileSync('systemd-analyze', ['security', '--offline=true', '--no-pager', file], {
      encoding: 'utf8',
    })
    const [, exposure] = /Overall exposure level for [\w.-]+: ([\d.]+)/.exec(judged) ?? assert.fail(judged)
    assert.ok(Number(exposure) <= most, judged)
  })

  test(`systemd knows every line of ${unit}`, { skip }, () => {
    const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' })
    const said = stderr.split('\n').filter((line) => line.includes(unit))
    // The executable is not installed here.
    assert.deepEqual(
      said.filter((line) => !line.includes('/usr/local/bin/berth is not executable')),
      [],
      stderr,
    )
  })

  test(`${unit} starts the executable, waits for an orderly end, and starts it again but for a bad setting`, () => {
    const said = Object.fromEntries(unitOf(`deploy/${unit}`))
    assert.equal(said.ExecStart, `/usr/local/bin/berth ${word}`)
    assert.equal(said.RestartPreventExitStatus, '78')
    // A limit would leave it failed for good where the database comes later than its starts.
    assert.equal(said.StartLimitIntervalSec, '0')
    assert.ok(said.After!.includes('network-online.target'))
    // It ends after 9 s at the latest: docs/operations.md: Start and stop.
    assert.ok(Number(said.TimeoutStopSec) > 9)
    for (const name of lines) assert.equal(said[name], 'yes', name)
    assert.equal(said.ProtectSystem, 'strict')
  })
}

for (const unit of ['berth-runner', 'berth-sites'])
  test(`npm, which ${unit} runs, has its cache in the directory that the unit may write`, () => {
    const lines = unitOf(`deploy/${unit}.service`)
    const variables = lines.flatMap(([name, text]) => (name === 'Environment' ? text.split(' ') : []))
    const [, directory] = lines.find(([name]) => name === 'CacheDirectory')!
    assert.ok(variables.includes(`npm_config_cache=%C/${directory}/npm`), variables.join())
  })

for (const unit of ['berth-runner.service', 'berth-sites.service'])
  test(`${unit} sets nothing that keeps a sandbox from starting, and gives it control groups`, () => {
    const said = Object.fromEntries(unitOf(`deploy/${unit}`))
    for (const name of [
      ...['DynamicUser', 'NoNewPrivileges', 'PrivateUsers', 'RestrictNamespaces', 'SystemCallFilter'],
      ...['RestrictSUIDSGID', 'PrivateDevices', 'ProtectProc', 'ProcSubset', 'ProtectKernelTunables'],
      ...['ProtectKernelLogs', 'ProtectControlGroups'],
    ])
      assert.equal(said[name], undefined, name)
    assert.equal(said.Delegate, 'memory pids cpu')
    assert.equal(said.DeviceAllow, '/dev/net/tun rw')
  })

for (const unit of ['berth-sites.service', 'berth-runner.service'])
  test(`${unit} raises the epoll watches, which one sandbox would use up for the user of the service`, () => {
    const said = Object.fromEntries(unitOf(`deploy/${unit}`))
    const [, max] =
      /^-\+.*echo (\d+) >\/proc\/sys\/fs\/epoll\/max_user_watches/.exec(said.ExecStartPre ?? '') ?? assert.fail()
    const tebibyte = 1024 ** 4
    assert.equal(sharedWatches(Number(max), tebibyte), undefined)
  })
