/** TABLE what features do when a project is shown, removed or moved, in this order. */
import { deploymentsOnProject } from './deployments/on-project.ts'
import { domainsOnProject } from './domains/on-project.ts'
import { envOnProject } from './env/project-env.ts'
import { installationsOnProject } from './installations/on-project.ts'
import type { OnProject } from './model/on-project.ts'
import { sharedEnvOnProject } from './shared-env/on-project.ts'
import { transferOnProject } from './transfer/on-project.ts'

export const ON_PROJECT: readonly OnProject[] = [
  domainsOnProject,
  transferOnProject,
  sharedEnvOnProject,
  envOnProject,
  deploymentsOnProject,
  installationsOnProject,
]
