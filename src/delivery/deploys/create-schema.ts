/** Request schema for deployments. docs/clients.md; docs/deploying-sites.md: Create a deployment. */
import type { Static } from 'typebox'
import { Type } from '../../platform/schema/builder.ts'
import { AnyObject, Nullable } from '../../platform/schema/fields.ts'
import type { Deployment } from '../../projects/deployments/schema.ts'
import type { Notice } from '../outputs/notices.ts'
import { FileEntries } from './file-entries.ts'

const Text = Type.Optional(Nullable(Type.String({ maxLength: 300 })))
/** As JSON, before it is parsed. */
const MAX_META = 64 * 1024

export const CreateDeployment = Type.Object({
  name: Type.Optional(Nullable(Type.String({ maxLength: 300, description: 'the name of the project' }))),
  project: Type.Optional(
    Nullable(Type.String({ maxLength: 300, description: 'the project by id or name, before `name`' })),
  ),
  files: Type.Optional(FileEntries),
  deploymentId: Type.Optional(
    Nullable(
      Type.String({ maxLength: 300, description: 'a deployment to deploy again, or to promote (`meta.action`)' }),
    ),
  ),
  target: Type.Optional(
    Nullable(
      Type.String({
        maxLength: 100,
        description: '`production`, `preview` (also when absent), or a custom environment',
      }),
    ),
  ),
  customEnvironmentSlugOrId: Text,
  meta: Type.Optional(Nullable(AnyObject(MAX_META))),
  gitMetadata: Type.Optional(Nullable(AnyObject(MAX_META))),
  env: Type.Optional(
    Nullable({ ...AnyObject(MAX_META), description: 'variables of the deployment, which its build gets too' }),
  ),
  build: Type.Optional(
    Nullable(
      Type.Object({ env: Type.Optional(Nullable({ ...AnyObject(MAX_META), description: 'variables of its build' })) }),
    ),
  ),
  projectSettings: Type.Optional(Nullable(AnyObject(MAX_META))),
  bulkRedirectsPath: Type.Optional(
    Nullable(Type.String({ maxLength: 4096, description: 'of `vercel.json`: a warning says that it is not read' })),
  ),
  autoAssignCustomDomains: Type.Optional(
    Nullable(Type.Boolean({ description: 'false: production stays where it is until a promote' })),
  ),
})
export type CreateDeployment = Static<typeof CreateDeployment>

export const CreateDeploymentQuery = Type.Object({
  skipAutoDetectionConfirmation: Type.Optional(
    Type.String({ maxLength: 10, description: '`1`: a project that does not exist is created' }),
  ),
  prebuilt: Type.Optional(Type.String({ maxLength: 10, description: '`1`: the files are an output' })),
  forceNew: Text,
  withCache: Text,
})
export type CreateDeploymentQuery = Static<typeof CreateDeploymentQuery>

export type CreatedDeployment = Deployment & { notices?: readonly Notice[] }

/** Returns whether a query parameter is set to yes. */
export function isYes(value: string | null | undefined): boolean {
  return value === '1' || value === 'true'
}

const MAX_HEADER = 1000

/** Returns headers with notices that clients print. docs/spec/wire.md 2.2. */
export function noticeHeaders({ notices = [] }: CreatedDeployment): Record<string, string> {
  return Object.fromEntries(
    notices.map(({ code, message }) => [
      `x-vercel-warning-${code.replaceAll('_', '-')}`,
      // Headers are ASCII only.
      message.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, MAX_HEADER),
    ]),
  )
}
