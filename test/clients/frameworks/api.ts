/** A directory `api/` in TypeScript. docs/frameworks.md. */
import { json } from '../source-builds.ts'
import { CHANGING, PUBLIC_FILE, SERVER_PROBES } from './servers.ts'
import type { App } from './visits.ts'

export const API: App = {
  name: 'api',
  files: {
    'package.json': json({
      private: true,
      dependencies: { '@vercel/functions': '3.9.9' },
      devDependencies: { '@types/node': '24.10.1' },
    }),
    'tsconfig.json': json({ compilerOptions: { strict: true } }),
    'public/index.html': '<h1>home</h1>\n',
    'public/robots.txt': 'User-agent: *\n',
    'lib/greeting.ts': 'export function greeting(): string { return String(process.env.GREETING) }\n',
    'data/words.txt': 'words of a file\n',
    'vercel.json': json({
      functions: { 'api/file.ts': { includeFiles: 'data/**' } },
      rewrites: [{ source: '/live/:id', destination: '/api/live/:id' }],
      redirects: [{ source: '/old', destination: '/live/1', statusCode: 301 }],
      headers: [{ source: '/api/(.*)', headers: [{ key: 'x-rule', value: 'api' }] }],
    }),
    'api/live/[id].ts': `import { greeting } from '../../lib/greeting'
export default (req: any, res: any) => res.json({ id: req.query.id, q: req.query.q ?? [], at: Date.now(), greeting: greeting() })
`,
    'api/who.ts':
      "import { ipAddress } from '@vercel/functions'\nexport const GET = (request: Request) => new Response(new URL(request.url).origin + ' ' + ipAddress(request))\n",
    'api/echo.ts':
      'export const POST = async (request: Request) => Response.json(await request.json(), { status: 201 })\n',
    'api/form.ts': `export default (req: any, res: any) => {
  res.setHeader('set-cookie', ['said=' + req.body.word, 'other=1'])
  res.redirect(303, '/')
}
`,
    'api/said.ts': "export default (req: any, res: any) => res.send('said ' + req.cookies.said)\n",
    'api/file.ts': `import { readFileSync } from 'node:fs'
import { join } from 'node:path'
export const GET = () => new Response(readFileSync(join(process.cwd(), 'data', 'words.txt')))
`,
    'api/broken.ts': "export const GET = () => { throw new Error('secret reason') }\n",
    'api/rest/[...all].ts': 'export default (req: any, res: any) => res.json(req.query)\n',
    'api/edge.ts': `export const config = { runtime: 'edge' }
export default (request: Request) => new Response('edge ' + new URL(request.url).search)
`,
    'api/stream.ts': `let release = () => {}
export const GET = () => new Response(new ReadableStream({
  async start(to) {
    to.enqueue(new TextEncoder().encode('first part'))
    await new Promise<void>((resolve) => { release = resolve })
    to.enqueue(new TextEncoder().encode('last part'))
    to.close()
  },
}))
export const POST = () => { release(); return new Response('released') }
`,
  },
  probes: [
    ...SERVER_PROBES.filter(({ ask }) => / \/(?:live.*|old|nowhere)?$/.test(ask)),
    ...SERVER_PROBES.filter(({ ask }) => / \/(?:who|echo|form|said|broken)$/.test(ask)).map((probe) => ({
      ...probe,
      ask: probe.ask.replace(' ', ' /api'),
      // Of a function that failed, the visitor sees a page without headers of rules.
      ...(probe.status !== 500 && { has: { ...probe.has, 'x-rule': /^api$/ } }),
    })),
    PUBLIC_FILE,
    { ask: 'GET /api/file', status: 200, text: /words of a file/ },
    { ask: 'DELETE /api/echo', status: 405, has: { allow: /POST/ } },
    { ask: 'GET /api/edge?a=1', status: 200, text: /^edge \?a=1$/ },
    { ask: 'GET /api/nowhere', status: 404 },
  ],
  changing: CHANGING,
  streamed: { path: '/api/stream', first: /first part/, release: 'POST /api/stream', last: /last part/ },
}
