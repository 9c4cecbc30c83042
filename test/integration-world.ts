/** Integrations for tests: registered, installed and with a token, through the doors that people use. */
import assert from 'node:assert/strict'
import type { World } from './world.ts'

export const REDIRECT = 'https://app.example.com/callback'

export type App = { id: string; clientId: string; clientSecret: string; secretId: string; slug: string }

/** Registers an integration of the first team (or another). */
export async function makeIntegration(
  world: World,
  wanted: { slug?: string; [field: string]: unknown } = {},
): Promise<App> {
  const { slug = 'helper' } = wanted
  const body = {
    name: 'Helper',
    teamId: world.credentials.teamId,
    redirectUrl: REDIRECT,
    scopes: ['read-write:project', 'read-write:project-env-vars'],
    ...wanted,
    slug,
  }
  const made = await world.operator('POST', '/operator/v1/integrations', body)
  assert.equal(made.status, 201, made.text)
  return { ...made.body, slug }
}

export type Consented = { configurationId: string; code: string }

/** Installs it on the first team; `wanted` says other projects, another team or, with `teamId: undefined`, the personal account. */
export async function install(world: World, app: App, wanted: object = {}): Promise<Consented> {
  const { userId, teamId } = world.credentials
  const body = { userId, teamId, projects: 'all', ...wanted }
  const made = await world.operator('POST', `/operator/v1/integrations/${app.id}/installations`, body)
  assert.equal(made.status, 201, made.text)
  return made.body
}
