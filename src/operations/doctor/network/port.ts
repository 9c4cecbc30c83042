import { createServer } from 'node:net'
import { type Config, listenOrigin } from '../../../config.ts'
import { type Finding, findingsAbout } from '../finding.ts'
import { createTrustedFetch } from './trusted-fetch.ts'

/** Checks that the API port is free or in use by Berth. */
export async function checkOwnPort(config: Config): Promise<Finding[]> {
  return [await checkPort('port', 'PORT', config, config.port, listenOrigin(config))]
}

/** Checks the edge port, if set. */
export async function checkPortForProxies(config: Config): Promise<Finding[]> {
  const { host, edge } = config
  if (edge.port === undefined) return []
  const origin = listenOrigin({ host, port: edge.port, tls: undefined })
  return [await checkPort('port for proxies', 'BERTH_EDGE_PORT', config, edge.port, origin)]
}

async function checkPort(
  about: string,
  setting: string,
  config: Config,
  port: number,
  origin: string,
): Promise<Finding> {
  const { well, wrong } = findingsAbout(about)
  const { host } = config
  const place = `${host}:${port}`
  const code = await tryToListen(host, port)
  if (code === undefined) return well(port === 0 ? 'each start uses a free one' : `${place} is free`)
  if (code === 'EADDRINUSE') {
    if (await isBerth(config, origin)) return well(`a Berth responds at ${place}`)
    return wrong(`another program uses ${place}`, `end it, or set ${setting} to another port`)
  }
  const advice =
    code === 'EACCES'
      ? `ports below 1024 are for root: set ${setting} to a higher one, behind a proxy`
      : 'set HOST to an address of this machine'
  return wrong(`cannot listen on ${place} (${code})`, advice)
}

function tryToListen(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(undefined)))
  })
}

/** The API is recognized by its document, the edge listener by its error for an unknown path. */
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
