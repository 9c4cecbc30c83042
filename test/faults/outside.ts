/** Name servers, mail server and receivers that are down and return: no other request waits, and no message is lost. docs/spec/reliability.md F16 to F18. */
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { credentialsOf, newHome, type RunningService, type ServiceHome, startService } from '../support/process.ts'
import { startDnsServer } from '../support/servers/dns-server.ts'
import { freePort } from '../support/servers/free-port.ts'
import { LOCAL } from '../support/servers/receiver.ts'
import { openSmtp } from '../support/servers/smtp.ts'
import { openClockOf } from './clock.ts'
import { type Fault, type Run, repeat } from './fault.ts'
import { checkAll, mustBeAnswers, untilWritten } from './kill.ts'
import { type Ledger, openLedger } from './ledger.ts'
import { sayOnce } from './line.ts'
import { startLoad } from './load.ts'
import { withStore } from './store.ts'

const MAX_VERIFY_MS = 5500
const MINUTE = 60_000

export const outside: Fault = { name: 'DNS, SMTP, receiver down', engines: ['sqlite', 'postgres'], run: downAndBack }

type Place = {
  run: Run
  home: ServiceHome
  running: RunningService
  ledger: Ledger
  dns: Awaited<ReturnType<typeof startDnsServer>>
}

async function downAndBack(run: Run): Promise<void> {
  const { found } = run
  const home = await newHome(run, run.engine)
  const dns = await startDnsServer()
  run.after(() => dns.close())
  const [mailPort, hookPort] = [await freePort(), await freePort()]
  const clocked = openClockOf(home)
  const env = {
    ...clocked.env,
    ...LOCAL,
    BERTH_DNS_SERVERS: dns.address,
    BERTH_SMTP_URL: `smtp://127.0.0.1:${mailPort}`,
    BERTH_MAIL_FROM: 'berth@example.com',
  }
  const running = await startService(run, home, env, clocked.words)
  const place: Place = { run, home, running, ledger: openLedger(), dns }
  const { token } = credentialsOf(home)
  const hook = { url: `http://127.0.0.1:${hookPort}/hook`, events: ['project.created', 'project.removed'] }
  await must(place, 'POST', '/v1/webhooks', token, hook)
  const heard = new Set<string>()
  let offMs = 0
  await repeat(run, run.short ? 1 : 3, async (at) => {
    const load = startLoad(home, [running.address], place.ledger, { prefix: `o${at}` })
    await verifyWhileDown(place, at)
    await queueLetter(place)
    await untilWritten(load, 40)
    await untilTried(home)
    // Longer than the first attempts of both are apart from their second ones.
    const back = performance.now()
    const mail = await openSmtp({ port: mailPort })
    const receiver = await openReceiver(hookPort, heard)
    offMs += 6 * MINUTE
    await clocked.set(running, offMs)
    load.stop()
    await load.ended
    mustBeAnswers(run, load, /^503 busy$/)
    await checkAll(run, home, running, place.ledger, `outside ${at + 1}`)
    await mustArrive(place, () => mail.received.length, 1, 'letters')
    await mustArrive(place, () => heard.size, await eventsNow(home), 'events')
    found.recoveriesMs.push(performance.now() - back)
    await Promise.all([mail.close(), receiver()])
  })
  found.acknowledged += place.ledger.acknowledged
  if ((await running.kill('SIGTERM')) !== 0) found.broken.push('SIGTERM did not end the program in order')
}

async function must({ running }: Place, ...asked: [method: string, path: string, token: string, body?: object]) {
  const said = await sayOnce(running.address, ...asked)
  if (said.status === undefined || said.status > 299) throw new Error(`${asked[1]}: ${JSON.stringify(said)}`)
  return said.body
}

/** An unresponsive name server is reported in time, changes nothing and delays no other request; once it returns the domain is verified. */
async function verifyWhileDown(place: Place, at: number): Promise<void> {
  const { run, dns, running, home, ledger } = place
  const { token } = credentialsOf(home)
  const name = `o${at}-99-0`
  // Each under an apex of its own: a verified one makes others under it verified at once.
  const domain = `proof.example${at}.net`
  await must(place, 'POST', '/v10/projects', token, { name })
  const { verification } = await must(place, 'POST', `/v10/projects/${name}/domains`, token, { name: domain })
  const state = { build: '', paused: false, env: {}, domains: [domain] }
  ledger.entries.set(name, { name, states: [state], envIds: new Map() })
  const [challenge] = verification as { domain: string; value: string }[]
  dns.zones.set(challenge!.domain, { silent: true })
  const path = `/v9/projects/${name}/domains/${domain}/verify`
  const before = performance.now()
  let answered = false
  const verify = sayOnce(running.address, 'POST', path, token).finally(() => {
    answered = true
  })
  for (let read = 0; read < 20 && !answered; read++) await must(place, 'GET', '/v9/projects?limit=5', token)
  if (answered) run.found.broken.push('20 reads waited for a name server that does not answer')
  const said = await verify
  const ms = performance.now() - before
  if (said.status !== 503 || said.body.error.code !== 'dns_unavailable')
    run.found.broken.push(`a verify without a name server: ${JSON.stringify(said)}`)
  if (ms > MAX_VERIFY_MS) run.found.broken.push(`a verify without a name server took ${Math.round(ms)} ms`)
  dns.zones.set(challenge!.domain, { txt: [[challenge!.value]] })
  const verified = await must(place, 'POST', path, token)
  if (verified.verified !== true) run.found.broken.push(`a verify after it: ${JSON.stringify(verified)}`)
}

/** Who asks for a letter does not wait for the mail server. */
async function queueLetter(place: Place): Promise<void> {
  const { operatorToken, userId } = credentialsOf(place.home)
  await must(place, 'POST', `/operator/v1/users/${userId}/password-link`, operatorToken)
}

/** Waits until the email and the events were attempted, in vain: an attempt while the clock is set would be delayed again. */
async function untilTried(home: ServiceHome): Promise<void> {
  const sql = `select (select count(*) from mail where sent_at is null and last_error is not null)
    * (select count(*) from delivery_attempt where error is not null) as many`
  for (let waited = 0; waited < 60_000; waited += 50) {
    if (Number((await withStore(home, (rows) => rows(sql)))[0]!.many) > 0) return
    await sleep(50)
  }
  throw new Error('nothing was attempted while the receivers were down')
}

/** Takes webhooks on a port, and keeps their ids. The answer ends it. */
async function openReceiver(port: number, heard: Set<string>): Promise<() => Promise<void>> {
  const server = createServer((request, response) => {
    heard.add(String(request.headers['webhook-id']))
    request.resume().on('end', () => response.end('ok'))
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return () => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(() => resolve()))
  }
}

async function eventsNow(home: ServiceHome): Promise<number> {
  const sql = "select count(*) as many from event where type in ('project.created', 'project.removed')"
  return withStore(home, async (rows) => Number((await rows(sql))[0]!.many))
}

/** All of it, and no more. */
async function mustArrive({ run }: Place, many: () => number, wanted: number, what: string): Promise<void> {
  for (let waited = 0; many() < wanted && waited < 60_000; waited += 50) await sleep(50)
  if (many() !== wanted) run.found.broken.push(`${many()} ${what} arrived of ${wanted}`)
}
