import { operatorRoute } from '../../platform/http/route.ts'
import { Type } from '../../platform/schema/builder.ts'
import { OneOf } from '../../platform/schema/fields.ts'
import { runChecks } from './doctor.ts'
import { proxyFindings } from './network/address.ts'

const Finding = Type.Object({
  about: Type.String(),
  is: OneOf('well', 'worry', 'wrong'),
  found: Type.String(),
  advice: Type.Optional(Type.String({ description: 'what to do' })),
})

export const Health = Type.Object({ well: Type.Boolean(), findings: Type.Array(Finding) })

export const doctorRoutes = [
  operatorRoute({
    method: 'GET',
    path: '/operator/v1/health',
    operationId: 'operatorGetHealth',
    summary:
      'Make the checks of berth doctor in the running service: settings, keyring, database, DNS, mail, clock, disk',
    tag: 'operator',
    run: async ({ deps }) => {
      const findings = [...(await runChecks(deps.config, () => {})), ...proxyFindings(deps.unnamedProxies.seen())]
      return { well: findings.every((finding) => finding.is !== 'wrong'), findings }
    },
    list: { rows: 200, rowBytes: 4 * 1024 },
    status: 200,
    reply: Health,
  }),
]
