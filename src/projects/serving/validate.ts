/** Validates deployment fields from the build system. */
import type { DomainSettings } from '../../config.ts'
import type { OperatorCtx } from '../../context.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { isAddress } from './domain-assignment.ts'

const HOST = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$/

/** Returns the host name of a deployment in stored form. Refuses: bad_request 400. */
export function canonicalUrl(text: string, { ownNames }: Pick<DomainSettings, 'ownNames'>): string {
  const url = text.toLowerCase()
  if (!HOST.test(url))
    refuse('bad_request', 'Invalid request: `url` should be a host name, such as web-abc123.apps.example.com.')
  if (ownNames.includes(url))
    refuse('bad_request', `Invalid request: \`url\` is "${url}", where Berth itself is reached.`)
  return url
}

/** Rejects a verified domain or an assigned address as a deployment's url. Refuses: deployment_url_taken 409. */
export async function mustNotBeClaimedDomain(ctx: OperatorCtx, url: string): Promise<void> {
  const domain = await ctx.db
    .selectFrom('project_domain')
    .select('name')
    .where('name', '=', url)
    .where('verified_at', 'is not', null)
    .executeTakeFirst()
  if (domain !== undefined) refuse('deployment_url_taken', `"${url}" is a verified domain of a project.`)
  if (await isAddress(ctx, url))
    refuse('deployment_url_taken', `"${url}" is the address of a project or of one of its branches.`)
}

/** Returns the origin of a URL without a path. Refuses: bad_request 400. */
export function readOrigin(text: string | null): string | null {
  if (text === null) return null
  const url = URL.parse(text)
  const bare = url !== null && `${url.pathname}${url.search}${url.hash}${url.username}${url.password}` === '/'
  if (!bare || !/^https?:$/.test(url.protocol))
    refuse(
      'bad_request',
      'Invalid request: `upstream` should be an http or https origin, such as http://10.0.0.7:3000.',
    )
  return url.origin
}

/** Small, because every list of projects contains it. */
const META_BYTES = 4096

/** Serializes the meta of a deployment. Refuses: bad_request 400. */
export function readMeta(meta: Record<string, string>): string {
  const text = JSON.stringify(meta)
  if (Buffer.byteLength(text) > META_BYTES) refuse('bad_request', 'Invalid request: `meta` is at most 4 KiB of JSON.')
  return text
}
