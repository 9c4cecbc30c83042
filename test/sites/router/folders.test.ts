/** Lists of folders, as the router decides them. docs/deploying-sites.md: Directory listings. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolve } from '../../../src/sites/router/resolve.ts'
import { lineOf, requestOf, type SiteFiles, siteOf } from './sites.ts'

/** TABLE what a project that lists folders answers: rules and files -> requests. */
const FACTS: { name: string; config?: object; has: SiteFiles; asks: [line: string, decision: string][] }[] = [
  {
    name: 'a folder without an index is a list of its files and folders, in order, however its address ends',
    has: { files: ['docs/b.txt', 'docs/a/x.txt', 'docs/a/y.txt', 'docs/a.txt', 'docs/é.txt', 'top.txt'] },
    asks: [
      ['GET /docs', 'folder /docs/ a.txt a/ b.txt é.txt'],
      ['GET /docs/', 'folder /docs/ a.txt a/ b.txt é.txt'],
      ['GET /%64ocs//', 'redirect 308 /docs/'],
      ['HEAD /docs/a?x=1', 'folder /docs/a/ x.txt y.txt'],
      ['GET /', 'folder / docs/ top.txt'],
      ['GET /docs/b.txt', 'file 200 /docs/b.txt'],
    ],
  },
  {
    name: 'what is not a folder, is spelled otherwise or is asked by another method stays 404',
    has: { files: ['docs/b.txt', 'with/index.html'] },
    asks: [
      ['GET /doc', 'error 404 NOT_FOUND'],
      ['GET /Docs', 'error 404 NOT_FOUND'],
      ['GET /docs%2F', 'error 404 NOT_FOUND'],
      ['GET /docs/../docs', 'error 404 NOT_FOUND'],
      ['GET /with/%2e%2e/docs', 'error 404 NOT_FOUND'],
      ['GET /docs%00', 'error 404 NOT_FOUND'],
      ['GET /docs/b.txt/c', 'error 404 NOT_FOUND'],
      ['POST /docs', 'error 404 NOT_FOUND'],
      ['OPTIONS /docs', 'error 404 NOT_FOUND'],
      ['GET /with', 'file 200 /with/index.html'],
    ],
  },
  {
    name: 'what begins with a dot is in no list, and a folder of nothing else is none',
    has: { files: ['a/.env', 'a/b.txt', 'only/.env', '.well-known/x'] },
    asks: [
      ['GET /a', 'folder /a/ b.txt'],
      ['GET /only', 'error 404 NOT_FOUND'],
      ['GET /', 'folder / a/ only/'],
      ['GET /a/.env', 'file 200 /a/.env'],
      ['GET /.well-known', 'folder /.well-known/ x'],
    ],
  },
  {
    name: 'a list comes where every rule and lookup found nothing, before the page of 404; a status of a rule stays',
    config: {
      routes: [
        { src: '/old', status: 308, headers: { location: '/new' } },
        { src: '/denied.*', status: 403 },
        { src: '/gone', status: 404 },
        { handle: 'filesystem' },
        { src: '/app/?', dest: '/shell.html' },
        { handle: 'miss' },
        { src: '/missed/.*', dest: '/nowhere', status: 404, continue: true },
        { handle: 'error' },
        { src: '/.*', status: 404, dest: '/404.html' },
      ],
    },
    has: {
      files: [
        '404.html',
        'shell.html',
        ...['old', 'denied', 'gone', 'app', 'missed/a', 'free'].map((at) => `${at}/x.txt`),
      ],
    },
    asks: [
      ['GET /old', 'redirect 308 /new'],
      ['GET /denied', 'error 403 STATUS'],
      ['GET /gone', 'file 404 /404.html'],
      ['GET /app', 'file 200 /shell.html'],
      ['GET /missed/a', 'folder /missed/a/ x.txt'],
      ['GET /free', 'folder /free/ x.txt'],
      ['GET /none', 'file 404 /404.html'],
    ],
  },
]

for (const { name, config = {}, has, asks } of FACTS)
  test(name, async () => {
    const site = await siteOf(config, has)
    for (const [line, decision] of asks) {
      const request = requestOf(line)
      assert.equal(lineOf(resolve(site, { ...request, listsFolders: true })), decision, line)
      const plain = lineOf(resolve(site, request))
      if (decision.startsWith('folder')) assert.match(plain, /^(error|file) 404 /, `${line}, where nothing is listed`)
      else assert.equal(plain, decision, `${line}, where nothing is listed`)
    }
  })

test('a list has a thousand names at most and says whether there are more, and is kept by no path', async () => {
  const files = Array.from({ length: 1001 }, (_, at) => `many/${String(at).padStart(4, '0')}.txt`)
  const listed = async (some: string[]) =>
    resolve(await siteOf({}, { files: some }), { ...requestOf('GET /many'), listsFolders: true })
  const [all, more] = [await listed(files.slice(1)), await listed(files)]
  assert.ok(all.kind === 'folder' && more.kind === 'folder')
  assert.deepEqual([all.names.length, all.isWhole, all.reusable], [1000, true, false])
  assert.deepEqual([more.names.length, more.isWhole, more.names.at(-1)], [1000, false, '0999.txt'])
})
