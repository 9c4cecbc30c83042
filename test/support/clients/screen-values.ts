/** Values for the names in the address of a page, where the first user has such a resource. */
import type { Samples } from '../sample-requests.ts'

/** TABLE the `id` of a page, by a part of its path. */
const IDS: readonly (readonly [part: string, id: (samples: Samples) => string])[] = [
  ['t/:slug/variables', ({ sharedId }) => sharedId],
  ['variables', ({ envId }) => envId],
  ['deployments', ({ deploymentId }) => deploymentId],
  ['webhooks', ({ webhookId }) => webhookId],
  ['drains', ({ drainId }) => drainId],
  ['apps', ({ apps }) => apps.helper.id],
  ['people', ({ mateId }) => mateId],
  ['operator/teams', ({ teamId }) => teamId],
  ['integrations', ({ installationId }) => installationId],
  ['tokens', ({ ownTokenId }) => ownTokenId],
]

/** Returns the parameters of a path; 'x' for a missing resource. */
export function valuesOf(path: string, samples: Samples): Record<string, string> {
  return {
    slug: /apps|members|settings/.test(path) && !path.includes('projects') ? 'team' : 'admin',
    name: 'web',
    domain: 'www.example.com',
    alias: 'www.example.com',
    uid: samples.mateId,
    deliveryId: samples.deliveryId,
    id: IDS.find(([part]) => path.includes(part))?.[1](samples) ?? 'x',
    invitationId: samples.invitationId,
    projectId: samples.projectId,
    accountId: samples.userId,
    endpointId: samples.webhookId,
    version: '1',
    environmentSlugOrId: 'staging',
  }
}
