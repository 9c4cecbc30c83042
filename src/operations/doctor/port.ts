/** What `berth doctor` says of the two ports. */
import { createServer } from 'node:net'
import { type Config, listenOrigin } from '../../config.ts'
import type { Finding } from './finding.ts'
import { createTrustedFetch } from './trusted-fetch.ts'

/** Whether the port of the API is free, or a Berth answers at it. */
export async function checkOwnPort(config: Config): Promise<Finding[]> {
  return [await checkPort('port', 'PORT', config, config.port, listenOrigin(config))]
}

/** The same of the port for proxies, where one is set. */
export async function checkPortForProxies(config: Config): Promise<Finding[]> {
  const { host, edge } = config
  if (edge.port === undefined) return []
  const origin = listenOrigin({ host, port: edge.port, tls: undefined })
  return [await checkPort('port for proxies', 'BERTH_EDGE_PORT', config, edge.port, origin)]
}

/** The port is free, or a Berth has it. */
async function checkPort(
  about: string,
  setting: string,
  config: Config,
  port: number,
  origin: string,
): Promise<Finding> {
  const { host } = config
  const place = `${host}:${port}`
  const code = await tryToListen(host, port)
  if (code === undefined)
    return { about, is: 'well', found: port === 0 ? 'a free one is taken at each start' : `${place} is free` }
  if (code === 'EADDRINUSE') {
    if (await isBerth(config, origin)) return { about, is: 'well', found: `a Berth answers at ${place}` }
    return {
      about,
      is: 'wrong',
      found: `${place} is taken by another program`,
      advice: `end it, or set ${setting} to another port`,
    }
  }
  const advice =
    code === 'EACCES'
      ? `ports below 1024 are for root: set ${setting} to a higher one, behind a proxy`
      : 'set HOST to an address of this machine'
  return { about, is: 'wrong', found: `cannot listen on ${place} (${code})`, advice }
}

function tryToListen(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(undefined)))
  })
}

/** The API says so by its document; the listener for proxies by its refusal of a question that it does not know. */
async function isBerth(config: Config, origin: string): Promise<boolean> {
  try {
    const ask = await createTrustedFetch(config)
    const answer = await ask(`${origin}/openapi.json`, { signal: AbortSignal.timeout(5000) })
    const text = await answer.text()
    return text.includes('"Berth"') || text.includes('docs/edge.md') || text.includes('BERTH_EDGE_TOKEN')
  } catch {
    return false
  }
}
