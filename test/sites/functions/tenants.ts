/** Functions of two tenants on one sites server, for tests of what one may try against the other. */
import type { TestContext } from 'node:test'
import type { FunctionOptions } from '../../../src/sites/functions/runtime.ts'
import { eventually } from '../../support/eventually.ts'
import { deployment, name, project } from '../snapshot/lines.ts'
import { SITE } from '../visitors/control-plane.ts'
import { functionOf, showFunctions } from './function-site.ts'
import { RUN, runInside } from './run-inside.ts'

export const OTHER = 'other.example'
/** Deployments of the one and of the other. */
export const [ONE_ID, OTHER_ID] = ['d1', 'd2']

/** Shows the functions `/api/run` and `/api/second` of both, and `contents`. `one`, `other`: run a script in a function of that tenant. */
export async function showTenants(
  t: TestContext,
  own: Partial<FunctionOptions>,
  contents: Record<string, string | Uint8Array> = {},
  config: object = {},
) {
  const all = { ...functionOf('api/run', RUN), ...functionOf('api/second', RUN), ...contents }
  const shown = await showFunctions(t, all, { own, config })
  const { control, site } = shown
  const output = { ...control.output, accountId: 'team_2' }
  control.change([name(OTHER, OTHER_ID, 'p2'), deployment(OTHER_ID, { projectId: 'p2', output }), project('p2')])
  await eventually(async () => (await site.visit(OTHER, '/')).headers['x-vercel-error'] !== 'DOMAIN_NOT_FOUND')
  const runAt = (host: string) => (script: string, path?: string) =>
    runInside((at, headers) => site.visit(host, at, headers), script, path)
  return { ...shown, one: runAt(SITE), other: runAt(OTHER) }
}

const [PORT, ABSTRACT] = [7123, 'berth-tenant']

/** Listens at a port of loopback and at an abstract socket, and goes on. */
export const LISTEN = `cat > /tmp/listen.py <<'END'
import socket, threading
def serve(family, address):
  s = socket.socket(family)
  s.bind(address)
  s.listen()
  print('listens', flush=True)
  while True: s.accept()[0].send(b'x')
threading.Thread(target=serve, args=(socket.AF_INET, ('127.0.0.1', ${PORT}))).start()
serve(socket.AF_UNIX, chr(0) + '${ABSTRACT}')
END
/usr/bin/python3 /tmp/listen.py >/tmp/listen.log 2>&1 &
until [ "$(wc -l </tmp/listen.log)" -ge 2 ]; do sleep 0.05; done`

/** Prints for each of both whether it answers, or for a socket of the file system. */
export function connectTo(path?: string): string {
  const addresses =
    path === undefined
      ? `(socket.AF_INET, ('127.0.0.1', ${PORT})), (socket.AF_UNIX, chr(0) + '${ABSTRACT}')`
      : `(socket.AF_UNIX, '${path}'),`
  return `/usr/bin/python3 -c "
import socket
for family, address in (${addresses}):
  s = socket.socket(family)
  s.settimeout(5)
  try:
    s.connect(address)
    print('reached')
  except OSError as error: print(type(error).__name__)"`
}
