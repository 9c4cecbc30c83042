/** The requests of the Terraform provider (and of Pulumi, which wraps it), as its Go client makes them: docs/spec/client-requests.md C. */
import assert from 'node:assert/strict'
import type { Decoded } from './sdk-client.ts'

/** What the Go client makes of an answer from 300 up: the status, and `code` and `message` of `error`. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, body: string) {
    const { error } = JSON.parse(body)
    assert.ok(error.code !== '' && error.message !== '', 'both empty: the provider dumps the body')
    super(error.message)
    this.status = status
    this.code = error.code
  }
}

export type Provider = (method: string, path: string, body?: object) => Promise<Decoded>

/** `teamId` is in the query when the provider has a team, and is not said when it has none. */
export function newProvider(origin: string, token: string, teamId: string | undefined): Provider {
  // The schema of the provider refuses other tokens (unanchored, as it is there).
  assert.match(token, /[0-9a-zA-Z]{24}/)
  return async (method, path, body) => {
    const url = new URL(path, origin)
    if (teamId !== undefined) url.searchParams.set('teamId', teamId)
    // A request without a body has a content type anyway.
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await fetch(url, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) })
    const text = await answer.text()
    if (answer.status >= 300) throw new ApiError(answer.status, text)
    return text === '' ? undefined : JSON.parse(text)
  }
}

/** What the provider does when it reads a resource: a 404 means that it was deleted, and it is planned again. */
export async function isGone(read: Promise<unknown>): Promise<void> {
  await assert.rejects(read, (error: ApiError) => {
    assert.equal(error.status, 404, error.message)
    return true
  })
}

/** Every variable of a project, as newer versions page: they stop at `next: null`, and end with an error when it does not advance. */
export async function listVariables(ask: Provider, projectId: string, limit = 100): Promise<Decoded[]> {
  const found: Decoded[] = []
  for (let until: number | undefined; ; ) {
    const page = `limit=${limit}${until === undefined ? '' : `&until=${until}`}`
    const { envs, pagination } = await ask('GET', `/v8/projects/${projectId}/env?decrypt=true&${page}`)
    found.push(...envs)
    if (pagination.next === null) return found
    assert.ok(until === undefined || pagination.next < until, 'pagination cursor did not advance')
    until = pagination.next as number
  }
}

/** Fields that are not pointers in Go: when one is missing it reads as false or 0, and the plan is never empty. */
export const ALWAYS_THERE = {
  autoAssignCustomDomains: 'boolean',
  gitForkProtection: 'boolean',
  gitLFS: 'boolean',
  serverlessFunctionZeroConfigFailover: 'boolean',
  customerSupportCodeVisibility: 'boolean',
  productionDeploymentsFastLane: 'boolean',
  directoryListing: 'boolean',
  protectedSourcemaps: 'boolean',
  previewDeploymentsDisabled: 'boolean',
  skewProtectionMaxAge: 'number',
  nodeVersion: 'string',
} as const
