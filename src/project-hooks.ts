/** TABLE Feature callbacks of projects, in this order. */

import type { ProjectHooks } from './context.ts'
import { installationsOnProject } from './integrations/installations/on-project.ts'
import { deploymentsOnProject } from './projects/deployments/on-project.ts'
import { domainsOnProject } from './projects/domains/on-project.ts'
import { envOnProject } from './projects/env/project-env.ts'
import { sharedEnvOnProject } from './projects/shared-env/on-project.ts'
import { siteSessionsOnProject } from './projects/site-sign-in/site-sessions.ts'
import { transferOnProject } from './projects/transfer/on-project.ts'

export const PROJECT_HOOKS: readonly ProjectHooks[] = [
  domainsOnProject,
  transferOnProject,
  sharedEnvOnProject,
  envOnProject,
  deploymentsOnProject,
  siteSessionsOnProject,
  installationsOnProject,
]
