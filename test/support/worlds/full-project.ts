/** Everything a project can have, as clients send it, for the tests of the SDKs. */
import assert from 'node:assert/strict'
import { type GitServer, startBitbucket, startGitlab } from '../servers/git-servers.ts'
import type { World } from '../world.ts'

/** Settings at create that every version of the SDK can send. */
export const ON_CREATE = {
  ...{
    buildCommand: 'make',
    commandForIgnoringBuildStep: 'true',
    devCommand: 'run',
    installCommand: 'i',
    framework: 'nextjs',
  },
  ...{ outputDirectory: 'out', rootDirectory: 'web', serverlessFunctionRegion: 'fra1', publicSource: true },
  ...{ skipGitConnectDuringLink: true, serverlessFunctionZeroConfigFailover: true },
}
/** Settings at update that every version can send. The plan must allow them: enterprise. */
export const ON_UPDATE = {
  ...{
    autoAssignCustomDomains: false,
    autoAssignCustomDomainsUpdatedBy: 'me',
    autoExposeSystemEnvs: true,
    gitLFS: true,
  },
  ...{
    customerSupportCodeVisibility: true,
    directoryListing: true,
    enablePreviewFeedback: true,
    gitForkProtection: false,
  },
  ...{ sourceFilesOutsideRootDirectory: true, skewProtectionBoundaryAt: 1_700_000_000_000, skewProtectionMaxAge: 60 },
  nodeVersion: '18.x',
  passwordProtection: { deploymentType: 'all', password: 'secret' },
  ssoProtection: { deploymentType: 'preview' },
  trustedIps: {
    deploymentType: 'all',
    addresses: [{ value: '10.0.0.0/8', note: 'office' }],
    protectionMode: 'exclusive',
  },
}
/** Sent over raw HTTP: some versions cannot send these, and must still decode them. */
export const BESIDE = {
  ...{ enableProductionFeedback: true, enableAffectedProjectsDeployments: true, previewDeploymentsDisabled: true },
  ...{ productionDeploymentsFastLane: true, protectedSourcemaps: true, previewDeploymentSuffix: 'p.example.com' },
  gitComments: { onPullRequest: true, onCommit: true },
  gitProviderOptions: { createDeployments: 'enabled' },
  oidcTokenConfig: { enabled: true, issuerMode: 'team' },
  optionsAllowlist: { paths: [{ value: '/api' }] },
  resourceConfig: {
    fluid: true,
    functionDefaultRegions: ['fra1'],
    functionDefaultTimeout: 60,
    functionDefaultMemoryType: 'standard',
  },
  trustedSources: { any: { thing: true } },
}

/** A variable of each type but `secret`, which the newest SDK reads and does not create. */
export const VARIABLES = [
  { key: 'K_plain', value: 'v', type: 'plain', target: ['production'] },
  { key: 'K_sensitive', value: 'v', type: 'sensitive', target: ['production'] },
  { key: 'VERCEL_URL', value: 'VERCEL_URL', type: 'system', target: ['preview'] },
]
export const SECRET_VARIABLE = { key: 'K_secret', value: 'v', type: 'secret', target: ['production'] }

export const GIT_PROVIDERS = ['github', 'gitlab', 'bitbucket'] as const

export type GitHosts = {
  /** Gives an account its credentials there: it can link `acme/web` at every provider. */
  allow(world: World, accountId: string): Promise<void>
  close(): Promise<void>
}

/** A GitLab and a Bitbucket that hold `acme/web`. (A link to GitHub sends no request.) */
export async function startGitHosts(): Promise<GitHosts> {
  const gitlab = await startGitlab('t', { 'acme/web': GITLAB_PROJECT })
  const bitbucket = await startBitbucket('Bearer t', { 'acme/web': BITBUCKET_REPOSITORY })
  const hosts: Record<string, GitServer> = { gitlab, bitbucket }
  return {
    allow: async (world, accountId) => {
      for (const [provider, { url }] of Object.entries(hosts)) {
        const path = `/operator/v1/accounts/${accountId}/git-credentials/${provider}`
        const set = await world.operator('PUT', path, { token: 't', baseUrl: url, webhookUrl: 'https://build.example' })
        assert.equal(set.status, 200, set.text)
      }
    },
    close: async () => {
      await Promise.all([gitlab.close(), bitbucket.close()])
    },
  }
}

const GITLAB_PROJECT = {
  ...{ id: 4711, name: 'Web', name_with_namespace: 'Acme / Web' },
  ...{ namespace: { id: 7, full_path: 'acme' }, web_url: 'https://gitlab.example/acme/web', default_branch: 'main' },
}
const BITBUCKET_REPOSITORY = {
  ...{ full_name: 'acme/web', name: 'Web', uuid: '{r}', workspace: { uuid: '{w}' }, mainbranch: { name: 'main' } },
  links: { html: { href: 'https://bitbucket.example/acme/web' } },
}
