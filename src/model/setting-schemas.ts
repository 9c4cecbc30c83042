/** Schemas of single project settings: values of the specification, the newest SDK and the Terraform provider. */

import { Type } from '../platform/schema/builder.ts'
import { AnyJson, Nullable, OneOf, Timestamp } from '../platform/schema/fields.ts'

/** The specification's, then those of the newest SDK. */
export const FRAMEWORKS = [
  ...'blitzjs nextjs gatsby remix astro hexo eleventy docusaurus-2 docusaurus preact solidstart dojo ember vue scully ionic-angular angular polymer svelte sveltekit sveltekit-1 ionic-react create-react-app gridsome umijs sapper saber stencil nuxtjs redwoodjs hugo jekyll brunch middleman zola hydrogen vite vitepress vuepress parcel sanity storybook'.split(
    ' ',
  ),
  ...'container react-router solidstart-1 tanstack-start tanstack-start-lovable fastapi flask fasthtml django ash factory-eve eve sanity-v2 nitro hono express h3 koa nestjs elysia fastify xmcp python ruby rust axum actix-web bun node go services mastra'.split(
    ' ',
  ),
]
const PROTECTED = ['preview', 'all', 'prod_deployment_urls_and_all_previews', 'all_except_custom_domains'] as const

/**
 * Bytes of one value of any shape. All of them together have a lower limit (model/project-settings.ts). A larger value from before the limit may be
 * sent again, if it is smaller.
 */
export const MAX_OPEN = 64 * 1024

export const Flag = Type.Boolean()
const Word = Type.String({ maxLength: 100 })

export const PasswordProtection = Type.Object({ deploymentType: OneOf(...PROTECTED) })
export const SsoProtection = Type.Object({ deploymentType: OneOf(...PROTECTED) })
export const TrustedIps = Type.Object({
  deploymentType: OneOf('production', ...PROTECTED),
  addresses: Type.Array(
    Type.Object({
      value: Type.String({ minLength: 1, maxLength: 18 }),
      note: Type.Optional(Type.String({ maxLength: 20 })),
    }),
    { minItems: 1, maxItems: 1000 },
  ),
  protectionMode: OneOf('additional', 'exclusive'),
})
export const ResourceConfig = Type.Object({
  fluid: Type.Optional(Flag),
  functionDefaultRegions: Type.Optional(Type.Array(Type.String({ maxLength: 10 }), { maxItems: 50 })),
  functionDefaultTimeout: Type.Optional(Type.Integer({ minimum: 1 })),
  functionDefaultMemoryType: Type.Optional(OneOf('standard_legacy', 'standard', 'performance', 'performance_xl')),
  functionZeroConfigFailover: Type.Optional(Flag),
  elasticConcurrencyEnabled: Type.Optional(Flag),
  isNSNBDisabled: Type.Optional(Flag),
  enableFunctionsBeta: Type.Optional(Flag),
  buildMachineType: Type.Optional(OneOf('basic', 'enhanced', 'turbo', 'standard', 'elastic')),
  buildMachineSelection: Type.Optional(OneOf('elastic', 'fixed')),
  buildMachineElasticLastUpdated: Type.Optional(Type.Integer({ minimum: 0 })),
  buildMachineElasticReason: Type.Optional(Word),
  buildQueue: Type.Optional(
    Type.Object({ configuration: Type.Optional(OneOf('SKIP_NAMESPACE_QUEUE', 'WAIT_FOR_NAMESPACE_QUEUE')) }),
  ),
})
export const OidcTokenConfig = Type.Object({
  enabled: Type.Optional(Flag),
  issuerMode: Type.Optional(OneOf('team', 'global')),
})
export const OptionsAllowlist = Type.Object({
  paths: Type.Array(
    Type.Object({ value: Type.String({ pattern: '^/', maxLength: 1024, description: 'a path that begins with /' }) }),
    {
      minItems: 1,
      maxItems: 5,
    },
  ),
})
export const GitComments = Type.Object({ onPullRequest: Flag, onCommit: Flag })
export const GitProviderOptions = Type.Object({
  createDeployments: Type.Optional(OneOf('enabled', 'disabled')),
  disableRepositoryDispatchEvents: Type.Optional(Flag),
  requireVerifiedCommits: Type.Optional(Flag),
  gitCommitStatus: Type.Optional(Flag),
  consolidatedGitCommitStatus: Type.Optional(Type.Object({ enabled: Flag, propagateFailures: Flag })),
})
export const StaticIps = Type.Object({
  enabled: Flag,
  builds: Type.Optional(Flag),
  regions: Type.Optional(Type.Array(Word, { maxItems: 50 })),
})
export const Sandbox = Type.Object({
  region: Type.Optional(Word),
  failoverRegions: Type.Optional(Type.Array(Word, { maxItems: 50 })),
})
const SamplingRule = Type.Object({
  rate: Type.Number({ minimum: 0, maximum: 1 }),
  env: Type.Optional(OneOf('production', 'preview')),
  requestPath: Type.Optional(Type.String({ maxLength: 256 })),
  destination: Type.Optional(OneOf('internal', 'external')),
})
export const Tracing = Type.Object({
  domains: Type.Optional(Type.String({ maxLength: 1024 })),
  ignorePaths: Type.Optional(Type.Array(Type.String({ maxLength: 256 }), { maxItems: 50 })),
  samplingRules: Type.Optional(Type.Array(SamplingRule, { maxItems: 20 })),
})
export const ConnectConfiguration = Type.Object({
  envId: Word,
  connectConfigurationId: Word,
  passive: Flag,
  buildsEnabled: Flag,
  createdAt: Type.Optional(Timestamp),
  updatedAt: Type.Optional(Timestamp),
})
export const Dismissed = Type.Object({
  key: Word,
  dismissedAt: Type.Number(),
  action: OneOf('cancel', 'accept', 'delete'),
  value: Type.Optional(AnyJson(MAX_OPEN)),
})

/** Returns the schema of a text of limited length, or null. */
export function NullableText(maxLength: number) {
  return Nullable(Type.String({ maxLength }))
}
