/** Small deployments for tests of the router. */
import type { RoutingManifest } from '../../../src/delivery/protocol/routing-manifest.ts'
import type { AskedPicture } from '../../../src/sites/pictures/picture-request.ts'
import type { Decision } from '../../../src/sites/router/decision.ts'
import type { VisitorRequest } from '../../../src/sites/router/request.ts'
import { openSite, type Site } from '../../../src/sites/router/site.ts'
import { nodeFunction, validOutput } from '../../delivery/outputs/upload.ts'

export type SiteFiles = { files?: string[]; functions?: string[]; prerenders?: Record<string, object> }

/** A deployment with this configuration, these files below static/, and these functions. */
export async function siteOf(config: object, files?: SiteFiles): Promise<Site> {
  return openSite(await manifestOf(config, files))
}

export async function manifestOf(
  config: object,
  { files = [], functions = [], prerenders = {} }: SiteFiles = {},
): Promise<RoutingManifest> {
  const contents = [
    ...files.map((file) => ({ [`static/${file}`]: file })),
    ...[...functions, ...Object.keys(prerenders)].map((name) => nodeFunction(name)),
    ...Object.entries(prerenders).map(([name, prerender]) => ({
      [`functions/${name}.prerender-config.json`]: JSON.stringify(prerender),
    })),
  ]
  return (await validOutput(config, Object.assign({}, ...contents))).manifest
}

/** `GET /a?b=1`, with headers by name. */
export function requestOf(line: string, headers: Record<string, string> = {}, host = 'site.example'): VisitorRequest {
  const [method = '', target = ''] = line.split(' ')
  const question = target.indexOf('?')
  return {
    method,
    host,
    path: question < 0 ? target : target.slice(0, question),
    search: question < 0 ? '' : target.slice(question),
    headers: new Map(Object.entries(headers)),
  }
}

/** A decision in a line: `file 200 /a.html`, `function api/b ?c=1`, `redirect 308 /d`, `proxy https://…`, `error 404 NOT_FOUND`. */
export function lineOf(decision: Decision): string {
  switch (decision.kind) {
    case 'file':
      return `file ${decision.status} ${decision.file.path}`
    case 'function':
    case 'prerender': {
      const { bundle, status, invocation } = decision
      return [decision.kind, status, bundle.name, invocation.search]
        .filter((part) => part !== undefined && part !== '')
        .join(' ')
    }
    case 'redirect':
      return `redirect ${decision.status} ${decision.location}`
    case 'proxy':
      return `proxy ${decision.url}`
    case 'middleware':
      return `middleware ${decision.name}`
    case 'folder':
      return `folder ${decision.path} ${decision.names.join(' ')}${decision.isWhole ? '' : ' …'}`
    case 'image':
      return `image ${pictureLine(decision.picture)}`
    case 'answer':
    case 'status':
      return `${decision.kind} ${decision.status}`
    case 'error':
      return `error ${decision.status} ${decision.code}`
  }
}

/** `/a.png 640 75`, or what is wrong. */
function pictureLine(picture: AskedPicture): string {
  if ('refusal' in picture) return picture.refusal
  const { source, width, quality } = picture
  return [source.kind === 'local' ? source.path + source.search : source.url, width, quality].join(' ')
}

/** The headers that a decision sets. */
export function headersOf(decision: Decision): Record<string, string> {
  return Object.fromEntries(decision.headers.map(({ name, value }) => [name, value]))
}
