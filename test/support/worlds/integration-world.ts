/** Integrations for tests: registered, installed and with a token, with the operations that users call. */
import assert from 'node:assert/strict'
import { grantConsent } from '../../../src/integrations/consent/grant-consent.ts'
import { findIntegration } from '../../../src/integrations/integrations/integrations.ts'
import type { Call, World } from '../world.ts'

export const REDIRECT = 'https://app.example.com/callback'

export type App = { id: string; clientId: string; clientSecret: string; secretId: string; slug: string }

/** Registers an integration of the first team (or another). */
export async function seedIntegration(
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

export type ConsentResult = { installationId: string; code: string }

/** Installs it on the first team; `wanted` sets other projects, another team or, with `teamId: undefined`, the personal account. */
export async function consentAndInstall(world: World, app: App, wanted: object = {}): Promise<ConsentResult> {
  const { userId, teamId } = world.credentials
  const body = { userId, teamId, projects: 'all', ...wanted }
  const made = await world.operator('POST', `/operator/v1/integrations/${app.id}/installations`, body)
  assert.equal(made.status, 201, made.text)
  return { installationId: made.body.configurationId, code: made.body.code }
}

/** A form, as apps send it. */
export function formOf(fields: Record<string, string>): Blob {
  return new Blob([new URLSearchParams(fields).toString()], { type: 'application/x-www-form-urlencoded' })
}

/** Sends a code to operation 21; `more` replaces fields of the form or adds some. */
export function exchange(world: World, app: App, code: string, more: Record<string, string> = {}) {
  const fields = { client_id: app.clientId, client_secret: app.clientSecret, code, redirect_uri: REDIRECT, ...more }
  return world.as(undefined).try('POST', '/v2/oauth/access_token', formOf(fields))
}

/** An installation that has its token. */
export type InstalledApp = { app: App; installationId: string; token: string; call: Call }

/** Registers an app (unless one is passed), installs it and exchanges the code. `where` is as of `install`. */
export async function seedInstallation(
  world: World,
  wanted: { app?: App; scopes?: string[]; slug?: string } = {},
  where: object = {},
): Promise<InstalledApp> {
  const { app: known, ...fields } = wanted
  const app = known ?? (await seedIntegration(world, fields))
  const { installationId, code } = await consentAndInstall(world, app, where)
  const given = await exchange(world, app, code)
  assert.equal(given.status, 200, given.text)
  return { app, installationId, token: given.body.access_token, call: world.as(given.body.access_token) }
}

/** A consent that a client began with PKCE (S256), as the consent page writes it. */
export async function installWithChallenge(world: World, app: App, challenge: string): Promise<ConsentResult> {
  const { clock, db } = world.deps
  const { userId, teamId } = world.credentials
  const account = { id: teamId, kind: 'team' } as const
  return db.write(async (tx) => {
    const emit = () => assert.fail('a first installation emits no event')
    const ctx = { db: tx, deps: world.deps, now: clock.now(), stamp: clock.stamp(), emit }
    const integration = await findIntegration(ctx, { id: app.id })
    return grantConsent(ctx, { integration, userId, account, projects: 'all', challenge })
  })
}
