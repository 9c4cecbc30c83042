/** The alerts of deploy/prometheus: each comes when it must and does not when it need not, as promtool tries them. docs/operations.md: Alerts. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { canRun, skipReason } from '../support/programs.ts'
import { root } from '../support/root.ts'
import { documentsOf, metricsIn } from './recipes.ts'

type Rule = { alert: string; expr: string; labels: { severity: string }; annotations: Record<string, string> }
/** Series as promtool writes them: `name{labels}` -> values, one a minute. */
type Series = Record<string, string>

const rulesFile = join(root, 'deploy', 'prometheus', 'berth.rules.yml')
const rules: Rule[] = documentsOf('deploy/prometheus/berth.rules.yml')[0].groups[0].rules
const skip = canRun('promtool', '--version') ? false : skipReason('promtool', 'prometheus', 'the alerts')
const AT = 'job="berth",instance="a:3000"'

/** TABLE what each alert is tried with, for 40 minutes: `fires` must bring it, `quiet` must not. */
const CASES: Record<string, { fires: Series; quiet: Series }> = {
  BerthDown: gauge('up', '0x40', '1x10 0 1x30'),
  BerthStoreDown: gauge('berth_store_up', '0x40', '1x10 0 1x30'),
  BerthFaults: {
    fires: { [`berth_http_requests_total{${AT},operation="getProject",method="GET",status="5xx"}`]: '0+1x40' },
    quiet: {
      [`berth_http_requests_total{${AT},operation="getProject",method="GET",status="4xx"}`]: '0+9x40',
      [`berth_http_requests_total{${AT},operation="getProject",method="GET",status="5xx"}`]: '7x40',
    },
  },
  BerthSlow: { fires: durations('0+10x40', '0+100x40'), quiet: durations('0+100x40', '0+100x40') },
  BerthEventLoopLags: gauge('nodejs_eventloop_lag_p99_seconds', '0.3x40', '0.2x40'),
  BerthConnectionsWait: gauge('berth_db_connections', '2x40', '0x10 5 0x30', 'state="waiting"'),
  BerthAnswersWait: gauge('berth_unsent_bytes', '60000000x40', '1000000x40'),
  BerthRestarts: gauge('process_start_time_seconds', '0+60x40', '1000x20 2000x20'),
  BerthDeliveriesLate: gauge('berth_deliveries_oldest_seconds', '0+60x40', '200x40'),
  BerthMailLate: gauge('berth_mail_oldest_seconds', '0+60x40', '600x40'),
  BerthNoRunner: { fires: queue('2x40', '0x40'), quiet: queue('2x40', '1x40') },
  BerthBuildsWait: gauge('berth_builds_oldest_seconds', '0+60x40', '600x40'),
  BerthRunnersFail: {
    fires: { [`berth_build_duration_seconds_count{${AT},outcome="RUNNER_FAILED"}`]: '0+1x40' },
    quiet: { [`berth_build_duration_seconds_count{${AT},outcome="BUILD_FAILED"}`]: '0+9x40' },
  },
  BerthRunnersLost: gauge('berth_timer_swept_total', '0+1x40', '0x10 1x30', 'timer="lost-builds"'),
  BerthTimersStand: gauge(
    'berth_timer_last_run_timestamp_seconds',
    '0x40',
    '0+60x40',
    'timer="disabled-configurations"',
  ),
  BerthTimerFails: gauge('berth_timer_failures_total', '0+1x40', '0x10 1x30', 'timer="old-events"'),
  BerthEdgeStale: gauge('berth_edge_stale_seconds', '0+60x40', '2x40'),
  BerthLogLinesLost: gauge('berth_log_lines_dropped_total', '0x20 5+1x20', '5x40'),
  BerthAuditLinesLost: gauge('berth_audit_lines_dropped_total', '0x20 5+1x20', '5x40'),
  // The clock of promtool begins at 0.
  BerthBackupOld: gauge('berth_backup_last_good_timestamp_seconds', '-100000+0x40', '-90000+0x40'),
  BerthBackupFailed: gauge('berth_backup_failed', '1x40', '1x5 0x35'),
  BerthBackupDamaged: gauge('berth_backups_damaged', '2x40', '0x40'),
  BerthKeyringNotCopied: gauge('berth_keyring_copy_verified', '0x40', '1x40'),
  BerthDiskFills: { fires: disk('4000000000x40', '3000000000x40'), quiet: disk('5000000000x40', '3000000000x40') },
}

/** TABLE further series that bring an alert. */
const ALSO: Record<string, Series> = {
  // Since its start the only instance never ran a sweep.
  BerthTimersStand: { [`up{${AT}}`]: '1x40' },
}

function gauge(name: string, fires: string, quiet: string, label = ''): { fires: Series; quiet: Series } {
  const series = `${name}{${[AT, label].filter(Boolean).join(',')}}`
  return { fires: { [series]: fires }, quiet: { [series]: quiet } }
}

function queue(waiting: string, active: string): Series {
  const runners = (state: string) => `berth_runners{${AT},state="${state}"}`
  return {
    [`berth_builds_waiting{${AT}}`]: waiting,
    [runners('active')]: active,
    [runners('draining')]: '0x40',
  }
}

function disk(free: string, store: string): Series {
  return { [`berth_disk_free_bytes{${AT}}`]: free, [`berth_store_bytes{${AT}}`]: store }
}

/** Requests of which so many took up to a second. */
function durations(upToOne: string, all: string): Series {
  const bucket = (le: string) => `berth_http_request_duration_seconds_bucket{${AT},operation="getProject",le="${le}"}`
  return { [bucket('1')]: upToOne, [bucket('2.5')]: all, [bucket('+Inf')]: all }
}

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-alerts-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function promtool(...words: string[]): void {
  const { status, stdout, stderr } = spawnSync('promtool', words, { encoding: 'utf8' })
  assert.equal(status, 0, `${words.join(' ')}\n${stdout}${stderr}`)
}

test('each alert says what is wrong and what to do, asks for figures that Berth has, and is tried below', () => {
  assert.deepEqual(rules.map(({ alert }) => alert).toSorted(), Object.keys(CASES).toSorted())
  for (const { alert, expr, labels, annotations } of rules) {
    assert.match(alert, /^Berth[A-Z]/)
    assert.match(labels.severity, /^(page|ticket)$/, alert)
    assert.ok(annotations.summary && annotations.description, alert)
    assert.ok(metricsIn(expr).length > 0, alert)
  }
})

test('docs/runbook.md has a row for each alert, and names no other', () => {
  const page = readFileSync(join(root, 'docs', 'runbook.md'), 'utf8')
  const rows = [...page.matchAll(/^\| ((?:`Berth\w+`(?:, )?)+) \| .{20,} \|$/gm)]
  const named = rows.flatMap(([, names]) => [...names!.matchAll(/`(\w+)`/g)].map(([, name]) => name!))
  assert.deepEqual(named.toSorted(), rules.map(({ alert }) => alert).toSorted())
})

test('the rules and the scrape configuration are valid', { skip }, (t) => {
  promtool('check', 'rules', rulesFile)
  const folder = newFolder(t)
  const token = join(folder, 'token')
  writeFileSync(token, 'token-of-the-figures')
  writeFileSync(join(folder, 'berth.rules.yml'), readFileSync(rulesFile))
  const config = readFileSync(join(root, 'deploy', 'prometheus', 'prometheus.yml'), 'utf8')
  const file = join(folder, 'prometheus.yml')
  writeFileSync(file, config.replace('/etc/prometheus/berth-token', token))
  promtool('check', 'config', file)
})

test('each alert comes when it must, and does not when it need not', { skip }, (t) => {
  const firing = (alert: string) => `count(ALERTS{alertname="${alert}",alertstate="firing"})`
  const tried = Object.entries(CASES).flatMap(([alert, { fires, quiet }]) => [
    trial(`${alert} comes`, fires, firing(alert), [{ labels: '{}', value: 1 }]),
    trial(`${alert} does not come`, quiet, firing(alert), []),
  ])
  for (const [alert, series] of Object.entries(ALSO))
    tried.push(trial(`${alert} also comes`, series, firing(alert), [{ labels: '{}', value: 1 }]))
  const file = join(newFolder(t), 'test.yml')
  // JSON is YAML.
  writeFileSync(file, JSON.stringify({ rule_files: [rulesFile], evaluation_interval: '1m', tests: tried }))
  promtool('test', 'rules', file)
})

function trial(name: string, series: Series, expr: string, samples: object[]): object {
  return {
    name,
    interval: '1m',
    input_series: Object.entries(series).map(([one, values]) => ({ series: one, values })),
    promql_expr_test: [{ expr, eval_time: '35m', exp_samples: samples }],
  }
}
