/** What the steps of the tour have in common. docs/console.md: Browser tests. */
import type { TestContext } from 'node:test'
import type { Tour } from '../../support/clients/tour.ts'
import { canRun, skipReason } from '../../support/programs.ts'
import type { AppSite } from '../../support/servers/app-site.ts'
import { type Dnsmasq, hasDnsmasq } from '../../support/servers/dnsmasq.ts'
import type { Receiver } from '../../support/servers/receiver.ts'
import type { Smtp } from '../../support/servers/smtp.ts'
import type { World } from '../../support/world.ts'

export type Scene = {
  t: TestContext
  tour: Tour
  /** The window of the second user, once they signed in. */
  ada?: Tour
  world: World
  dnsmasq: Dnsmasq
  smtp: Smtp
  /** The web site of the app that is registered. */
  site: AppSite
  /** Where deployments run: a site that says which request arrived. */
  upstream: string
  /** Receives the webhook. */
  receiver: Receiver
}

/** The actions of a user, by the name of the test. */
export type Steps = Record<string, (scene: Scene) => Promise<void>>

export const VALUE = 'value-that-only-one-page-shows'
export const OTHER_VALUE = 'value-that-nobody-asks-for'
export const TEAM = '/console/t/team'
export const WEB = `${TEAM}/projects/web`
export const OPERATOR = '/console/operator'
export const DOMAIN = 'www.example.com'
export const EDGE_TOKEN = 'token-of-the-proxies-at-the-edge'

/** Whether a step can be taken on this machine. Where it cannot it is skipped, loudly. */
export function canProveDomains(t: TestContext): boolean {
  if (hasDnsmasq) return true
  t.skip(skipReason('dnsmasq', 'dnsmasq-base', 'whether a new user can verify a domain'))
  return false
}

export function canRunCaddy(t: TestContext): boolean {
  if (canRun('caddy', 'version')) return true
  t.skip(skipReason('caddy', 'caddy', 'whether a visitor sees that a project is paused'))
  return false
}

/** The id of the variable of `web` with this key. */
export async function variableId({ world }: Scene, key: string): Promise<string> {
  const { envs } = (await world.call('GET', `/v9/projects/web/env?teamId=${world.credentials.teamId}`)).body
  return envs.find((one) => one.key === key)!.id
}
