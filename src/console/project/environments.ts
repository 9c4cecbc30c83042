/** The custom environments of a project, as its pages choose among them. */
import type { Static } from 'typebox'
import type { EnvironmentList } from '../../model/environment.ts'
import type { OwnAccount } from '../../pages/acting.ts'
import type { ConsoleCtx } from '../../pages/screen.ts'

export type Environments = Static<typeof EnvironmentList>['environments']

/** The custom environments of a project. The page declares `getProjectCustomEnvironments`. */
export async function environmentsOf(ctx: ConsoleCtx, account: OwnAccount, project: string): Promise<Environments> {
  const { environments } = await ctx.ask<Static<typeof EnvironmentList>>('getProjectCustomEnvironments', {
    account,
    params: { idOrName: project },
  })
  return environments
}
