/** The web site of an integration: its logo, and the address that users return to with their codes. Over https, as both require it. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { CertificateFiles } from './certificates.ts'

export type AppSite = {
  origin: string
  logoUrl: string
  redirectUrl: string
  /** How often the logo was requested. */
  logos(): number
  /** The codes that users returned with. */
  codes: string[]
  close(): Promise<void>
}

const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><circle cx="4" cy="4" r="4" fill="#1a6b3a"/></svg>'

export async function openAppSite({ cert, key }: Pick<CertificateFiles, 'cert' | 'key'>): Promise<AppSite> {
  let logos = 0
  const codes: string[] = []
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'https://app.example')
    if (pathname === '/logo.svg') {
      logos++
      response.setHeader('content-type', 'image/svg+xml')
      response.setHeader('cross-origin-resource-policy', 'cross-origin')
      return void response.end(LOGO)
    }
    const code = searchParams.get('code')
    if (code !== null) codes.push(code)
    response.setHeader('content-type', 'text/html')
    response.end('<!doctype html><title>The app</title><h1>The app is installed</h1>')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { origin, logoUrl: `${origin}/logo.svg`, redirectUrl: `${origin}/callback`, logos: () => logos, codes, close }
}
