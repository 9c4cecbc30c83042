/**
 * Measures what another team feels, on a thread of its own so that what attacks in the same process costs it nothing. A request
 * is due every so often whether or not the one before was answered, and timed from when it was due: a stall is felt by all of
 * those that fell into it.
 */
import { Agent, request } from 'node:http'
import { parentPort, Worker, workerData } from 'node:worker_threads'

const EVERY_MS = 20

export type Measured = { p50: number; p90: number; p99: number; longest: number; asked: number; failed: number }
/** What is asked: the API by a team, or the paths of a site by its visitors. */
type Data = { address: string } & ({ token: string; teamId: string } | { host: string; paths: readonly string[] })

/** Begins to measure; the answer stops it and gives what was measured. */
export function startMeter(data: Data): () => Promise<Measured> {
  const worker = new Worker(new URL(import.meta.url), { workerData: data })
  return () =>
    new Promise((resolve, reject) => {
      worker.once('message', (measured: Measured) => worker.terminate().then(() => resolve(measured)))
      worker.once('error', reject)
      worker.postMessage('stop')
    })
}

if (parentPort !== null) {
  const data = workerData as Data
  const agent = new Agent({ keepAlive: true })
  const took: number[] = []
  let failed = 0
  let n = 0
  const open = new Set<Promise<void>>()
  const begun = performance.now()

  /** Of a site one path after another; of the API mostly what every client asks, now and then a write, and rarely a password to hash. */
  const next = (): { method: string; path: string; body?: string } => {
    if ('paths' in data) return { method: 'GET', path: data.paths[n % data.paths.length]! }
    const team = `teamId=${data.teamId}`
    if (n % 10 === 9) {
      const body = JSON.stringify({ key: 'K', value: String(n), type: 'plain', target: ['production'] })
      return { method: 'POST', path: `/v10/projects/neighbor/env?upsert=true&${team}`, body }
    }
    // Its turn never comes behind the passwords of others.
    if (n % 200 === 75) {
      const body = JSON.stringify({ passwordProtection: { deploymentType: 'all', password: `mine ${n}` } })
      return { method: 'PATCH', path: `/v9/projects/neighbor?${team}`, body }
    }
    if (n % 10 === 5) return { method: 'GET', path: `/v9/projects?${team}` }
    return n % 2 === 0 ? { method: 'GET', path: '/v2/user' } : { method: 'GET', path: `/v9/projects/neighbor?${team}` }
  }
  const ask = (due: number): Promise<void> =>
    new Promise((resolve) => {
      const { method, path, body } = next()
      const own = 'host' in data ? { host: data.host } : { authorization: `Bearer ${data.token}` }
      const headers = { ...own, ...(body && { 'content-type': 'application/json' }) }
      const asked = request(data.address + path, { method, headers, agent }, (answer) => {
        answer.resume().on('end', () => {
          took.push(performance.now() - due)
          if (answer.statusCode! >= 300) failed++
          resolve()
        })
      })
      asked.on('error', () => {
        failed++
        resolve()
      })
      asked.end(body)
    })
  let timer: NodeJS.Timeout
  const askDue = () => {
    // A timer that fires late owes every request that was due by then.
    for (; begun + n * EVERY_MS <= performance.now(); n++) {
      const one: Promise<void> = ask(begun + n * EVERY_MS).finally(() => open.delete(one))
      open.add(one)
    }
    timer = setTimeout(askDue, Math.max(0, begun + n * EVERY_MS - performance.now()))
  }
  askDue()
  parentPort.once('message', async () => {
    clearTimeout(timer)
    await Promise.all(open)
    took.sort((a, b) => a - b)
    const at = (share: number) => took[Math.floor(took.length * share)] ?? Number.POSITIVE_INFINITY
    const measured = { p50: at(0.5), p90: at(0.9), p99: at(0.99), longest: took.at(-1) ?? 0, asked: n, failed }
    parentPort!.postMessage(measured satisfies Measured)
  })
}
