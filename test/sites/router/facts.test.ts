/** TABLE what the router does, one behavior a row. docs/deploying-sites.md: Router. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolve, resolveError } from '../../../src/sites/router/resolve.ts'
import { responseHeaders } from '../../../src/sites/router/response-headers.ts'
import { headersOf, lineOf, requestOf, type SiteFiles, siteOf } from './sites.ts'

type Ask = [
  line: string,
  decision: string,
  options?: { headers?: Record<string, string>; host?: string; sets?: Record<string, string> },
]
type Fact = { name: string; config?: object; has?: SiteFiles; asks: Ask[] }

const FACTS: Fact[] = [
  {
    name: 'files are found by their path; overrides replace it; folders serve their index',
    config: { overrides: { 'about.html': { path: 'about' }, 'root.html': { path: '' } } },
    has: { files: ['about.html', 'root.html', 'docs/index.html', 'old/index.txt', 'a b/é.txt'] },
    asks: [
      ['GET /about', 'file 200 /about'],
      ['GET /about/', 'file 200 /about'],
      ['GET /about.html', 'error 404 NOT_FOUND'],
      ['GET /', 'file 200 /'],
      ['GET /docs', 'file 200 /docs/index.html'],
      ['GET /docs/', 'file 200 /docs/index.html'],
      ['GET /old', 'file 200 /old/index.txt'],
      ['GET /a%20b/%C3%A9.txt', 'file 200 /a b/é.txt'],
      ['GET /A', 'error 404 NOT_FOUND'],
    ],
  },
  {
    name: 'a destination has one slash where it has several, and is the root where it is a query alone',
    config: {
      routes: [
        { src: '/slashes', dest: 'docs///guide//a.txt' },
        { src: '/root', dest: '?of=root' },
      ],
    },
    has: { files: ['docs/guide/a.txt'], functions: ['index'] },
    asks: [
      ['GET /slashes', 'file 200 /docs/guide/a.txt'],
      ['GET /root?of=visitor', 'function index ?of=root'],
    ],
  },
  {
    name: 'no encoding of a path leads out of the index',
    has: { files: ['index.html', 'secret/a.txt'] },
    asks: [
      ['GET /..%2fconfig.json', 'error 404 NOT_FOUND'],
      ['GET /%2e%2e/config.json', 'error 404 NOT_FOUND'],
      ['GET /secret/..%2fsecret/a.txt', 'error 404 NOT_FOUND'],
      ['GET /secret%2fa.txt', 'error 404 NOT_FOUND'],
      ['GET /secret%5Ca.txt', 'error 404 NOT_FOUND'],
      ['GET /secret/a.txt%2F', 'error 404 NOT_FOUND'],
      ['GET /index.html%00.png', 'error 404 NOT_FOUND'],
      ['GET /%E0%A4%A', 'error 404 NOT_FOUND'],
      ['GET /__proto__', 'error 404 NOT_FOUND'],
    ],
  },
  {
    name: 'no spelling of a path passes by a rule and still finds the file: what needs no escape has none before rules match',
    config: {
      routes: [
        { src: '/admin/.*', status: 307, headers: { location: '/login' } },
        { src: '/%C3%BC/.*', caseSensitive: true, status: 307, headers: { location: '/login' } },
        { handle: 'error' },
        { src: '/a-b', status: 404, headers: { 'x-e': '1' } },
      ],
    },
    has: { files: ['admin/secret.html', 'public/a.txt', 'ü/a.txt', '~a-b_c.1'] },
    asks: [
      ['GET /admin/secret.html', 'redirect 307 /login'],
      ['GET /%61dmin/secret.html', 'redirect 307 /login'],
      ['GET /%61%64%6D%69%6e/secret%2Ehtml', 'redirect 307 /login'],
      ['GET /%61dmin%2fsecret.html', 'error 404 NOT_FOUND'],
      ['GET /admin%2Fsecret.html', 'error 404 NOT_FOUND'],
      ['GET /admin%5csecret.html', 'error 404 NOT_FOUND'],
      ['GET /admin%252fsecret.html', 'error 404 NOT_FOUND'],
      // Read once, also where escapes stand in escapes.
      ['GET /%2561dmin/secret.html', 'error 404 NOT_FOUND'],
      ['GET /%%361dmin/secret.html', 'error 404 NOT_FOUND'],
      ['GET /%6%31dmin/secret.html', 'error 404 NOT_FOUND'],
      ['GET /%%36%31dmin/secret.html', 'error 404 NOT_FOUND'],
      ['GET /public/%2e%2e/admin/secret.html', 'error 404 NOT_FOUND'],
      ['GET /public/../admin/secret.html', 'error 404 NOT_FOUND'],
      ['GET /%C3%BC/a.txt', 'redirect 307 /login'],
      ['GET /%c3%bc/a.txt', 'redirect 307 /login'],
      ['GET /%7Ea%2Db%5fc%2E%31', 'file 200 /~a-b_c.1'],
      ['GET /a%2Db', 'error 404 NOT_FOUND', { sets: { 'x-e': '1' } }],
    ],
  },
  {
    name: 'slashes in a row are one: those who read are redirected, and rules and functions see single ones',
    config: {
      routes: [
        { src: '/admin/.*', mitigate: { action: 'deny' } },
        { src: '/form', dest: '/f' },
      ],
    },
    has: { files: ['a/b.txt', 'admin/x'], functions: ['f'] },
    asks: [
      ['GET //a///b.txt?x=//1', 'redirect 308 /a/b.txt?x=//1'],
      ['HEAD /a/b.txt//', 'redirect 308 /a/b.txt/'],
      ['GET //other.example//', 'redirect 308 /other.example/'],
      ['GET //', 'redirect 308 /'],
      ['GET /\\other.example//', 'redirect 308 /other.example/'],
      ['POST //form', 'function f'],
      ['POST //admin//x', 'error 403 DENIED'],
      ['GET /a%2F%2Fb.txt', 'error 404 NOT_FOUND'],
    ],
  },
  {
    name: 'other characters stay escaped for rules, and names with them are found',
    config: {
      routes: [
        { src: '/%20/.*', dest: '/hit' },
        { src: '/r ü/.*', dest: '/hit' },
        { src: '/item/(?<id>[^/]+)', dest: '/f?id=$id' },
      ],
    },
    has: { files: ['über.html', 'a b.html', '100%.txt', '@x/(y)+[z].js', 'p/a%2Fb', 'hit', 'r ü/a'], functions: ['f'] },
    asks: [
      ['GET /%C3%BCber.html', 'file 200 /über.html'],
      ['GET /%c3%bcber.html', 'file 200 /über.html'],
      ['GET /a%20b.html', 'file 200 /a b.html'],
      ['GET /100%25.txt', 'file 200 /100%.txt'],
      ['GET /100%.txt', 'file 200 /100%.txt'],
      ['GET /%40x/%28y%29%2B%5Bz%5D.js', 'file 200 /@x/(y)+[z].js'],
      ['GET /p/a%2Fb', 'file 200 /p/a%2Fb'],
      ['GET /%20/x', 'file 200 /hit'],
      // A rule with a space or an umlaut in it matches no request: paths have them escaped.
      ['GET /r%20%C3%BC/a', 'file 200 /r ü/a'],
      ['GET /item/1%26a%3D2%2B', 'function f ?id=1%26a%3D2%2B'],
    ],
  },
  {
    name: 'a function answers where it and a file have one path, and the root is the function `index`',
    has: { files: ['api/a', 'b.txt'], functions: ['api/a', 'index'] },
    asks: [
      ['GET /api/a', 'function api/a'],
      ['POST /api/a?x=1', 'function api/a ?x=1'],
      ['GET /', 'function index'],
      ['GET /b.txt', 'file 200 /b.txt'],
    ],
  },
  {
    name: 'a source is anchored, ignores case unless it says otherwise, and may be written for PCRE',
    config: {
      routes: [
        { src: '/part', dest: '/hit' },
        { src: '/Exact', dest: '/hit', caseSensitive: true },
        { src: '/(?P<name>[a-z]+)-p', dest: '/$name' },
        { src: '^\\/esc$', dest: 'hit' },
        { src: 'bare/(.*)', dest: 'hit' },
        { src: '^built$', dest: 'hit' },
      ],
    },
    has: { files: ['hit'] },
    asks: [
      ['GET /part', 'file 200 /hit'],
      ['GET /PART', 'file 200 /hit'],
      ['GET /part/more', 'error 404 NOT_FOUND'],
      ['GET /before/part', 'error 404 NOT_FOUND'],
      ['GET /exact', 'error 404 NOT_FOUND'],
      ['GET /Exact', 'file 200 /hit'],
      ['GET /hit-p', 'file 200 /hit'],
      ['GET /esc', 'file 200 /hit'],
      ['GET /bare/x', 'file 200 /hit'],
      ['GET /before/bare/x', 'error 404 NOT_FOUND'],
      ['GET /built', 'file 200 /hit'],
    ],
  },
  {
    name: 'conditions: every `has` holds, no `missing` does',
    config: {
      routes: [
        { src: '/host', dest: '/yes', has: [{ type: 'host', value: 'a\\.example' }] },
        {
          src: '/all',
          dest: '/yes',
          has: [
            { type: 'host', value: 'a.example' },
            { type: 'header', key: 'X-Any' },
            { type: 'query', key: 'q', value: 'one' },
          ],
        },
        {
          src: '/none',
          dest: '/yes',
          missing: [
            { type: 'host', value: 'b.example' },
            { type: 'query', key: 'q' },
          ],
        },
        {
          src: '/both',
          dest: '/yes',
          has: [{ type: 'cookie', key: 'c', value: '1' }],
          missing: [{ type: 'query', key: 'no' }],
        },
        { src: '/get', dest: '/yes', methods: ['GET'] },
        { src: '/compare', dest: '/yes', has: [{ type: 'query', key: 'n', value: { gte: 3, lt: 9, neq: '4' } }] },
        {
          src: '/text',
          dest: '/yes',
          has: [{ type: 'header', key: 'x', value: { pre: 'a', suf: 'z', ninc: ['az'] } }],
        },
        { src: '/.*', dest: '/no', status: 404 },
      ],
    },
    has: { files: ['yes', 'no'] },
    asks: [
      ['GET /host', 'file 200 /yes', { host: 'a.example' }],
      ['GET /host', 'file 200 /yes', { host: 'A.example:8443' }],
      ['GET /host', 'file 404 /no', { host: 'aXexample' }],
      ['GET /all?q=one', 'file 200 /yes', { host: 'a.example', headers: { 'x-any': '' } }],
      ['GET /all?q=one', 'file 404 /no', { host: 'a.example' }],
      ['GET /all?q=ones', 'file 404 /no', { host: 'a.example', headers: { 'x-any': '' } }],
      ['GET /all?q=two&q=one', 'file 200 /yes', { host: 'a.example', headers: { 'x-any': '1' } }],
      ['GET /none', 'file 200 /yes'],
      ['GET /none', 'file 404 /no', { host: 'b.example' }],
      ['GET /none?q', 'file 404 /no'],
      ['GET /both', 'file 200 /yes', { headers: { cookie: 'b=2; c=1; c=3' } }],
      ['GET /both?no=1', 'file 404 /no', { headers: { cookie: 'c=1' } }],
      ['GET /both', 'file 404 /no', { headers: { cookie: 'cc=1' } }],
      ['GET /both', 'file 404 /no', { headers: { cookie: '\u00a0c=1' } }],
      ['GET /both', 'file 404 /no', { headers: { cookie: 'c=1\u00a0' } }],
      ['GET /both', 'file 200 /yes', { headers: { cookie: '\u00a0c=2;\tc=1 \t; c=3' } }],
      ['GET /get', 'file 200 /yes'],
      ['POST /get', 'file 404 /no'],
      ['GET /compare?n=3', 'file 200 /yes'],
      ['GET /compare?n=4', 'file 404 /no'],
      ['GET /compare?n=10', 'file 404 /no'],
      ['GET /text', 'file 200 /yes', { headers: { x: 'abz' } }],
      ['GET /text', 'file 404 /no', { headers: { x: 'az' } }],
    ],
  },
  {
    name: 'destinations: captures by number and name, of the path and of conditions; unknown ones are empty; a slash is added',
    config: {
      routes: [
        { src: '/n/(.*)/(.*)', dest: '/$2/$1' },
        { src: '/named/(?<id>\\d+)', dest: '/item$id.txt' },
        { src: '/far/(.*)', dest: '$1' },
        { src: '/whole/x', dest: '$0' },
        { src: '/unknown', dest: '/a$nothing$7/b' },
        { src: '/braces/(?<id>.*)', dest: ['/item$', '{id}.txt'].join('') },
        { src: '/cond', dest: '/item$id.txt', has: [{ type: 'query', key: 'q', value: 'v(?<id>\\d)' }] },
        { src: '/key', dest: '/item$q.txt', has: [{ type: 'query', key: 'q' }] },
        { src: '/once/(.*)', dest: '/$1' },
      ],
    },
    has: { files: ['b/a', 'a/b', 'item7.txt', 'whole/x', '$0'] },
    asks: [
      ['GET /n/a/b', 'file 200 /b/a'],
      ['GET /named/7', 'file 200 /item7.txt'],
      ['GET /far/a/b', 'file 200 /a/b'],
      ['GET /whole/x', 'file 200 /whole/x'],
      ['GET /unknown', 'file 200 /a/b'],
      ['GET /braces/7', 'file 200 /item7.txt'],
      ['GET /cond?q=v7', 'file 200 /item7.txt'],
      ['GET /key?q=7', 'file 200 /item7.txt'],
      // What a capture contains is text, never a placeholder.
      ['GET /once/$0', 'file 200 /$0'],
    ],
  },
  {
    name: "the query of a destination replaces the visitor's values of the same names, and the rest goes along",
    config: { routes: [{ src: '/user/(?<id>[^/]+)', dest: '/user?id=$id&kind=page' }] },
    has: { functions: ['user'] },
    asks: [
      ['GET /user/77', 'function user ?id=77&kind=page'],
      ['GET /user/77?id=evil&a=1&id=worse', 'function user ?a=1&id=77&kind=page'],
    ],
  },
  {
    name: "a query that no rule touches reaches the function byte for byte, even where the visitor's encoding is odd",
    has: { functions: ['f'] },
    asks: [['GET /f?a=%7e&&b+c&d=%zz', 'function f ?a=%7e&&b+c&d=%zz']],
  },
  {
    name: "redirects: a status with a location, 307 for a location alone; the visitor's query goes along unless there is one",
    config: {
      routes: [
        { src: '/old', status: 308, headers: { Location: '/new' } },
        { src: '/short/(.*)', headers: { location: '/long?id=$1' } },
        { src: '/(.+)/', status: 308, headers: { Location: '/$1' }, continue: true },
        { src: '/away', status: 302, headers: { Location: 'https://other.example/x' } },
        { src: '/part', status: 308, headers: { Location: '/docs#install' } },
        { src: '/part-asked', status: 307, headers: { Location: '/docs?own=1#install' } },
        { src: '/part-far', status: 307, headers: { Location: 'https://other.example#/a?b=c' } },
        { src: '/not-a-redirect', status: 200, headers: { location: '/x' } },
        { src: '/other-header', headers: { 'x-a': 'b' } },
        { src: '/with-dest', dest: '/not-a-redirect', headers: { location: '/x' } },
        { src: '/set-before/(.*)', headers: { location: '/y' }, continue: true, status: 200 },
        { src: '/set-before/(.*)', headers: { 'x-a': 'b' } },
        { src: '/moved/(.*)', status: 301, dest: '/not-a-redirect?of=$1' },
        { src: '/moved-far', status: 308, dest: 'https://other.example/y' },
        { src: '/moved-both', status: 302, dest: '/not-a-redirect', headers: { location: '/z' } },
      ],
    },
    has: { files: ['not-a-redirect', 'other-header', 'set-before/1'] },
    asks: [
      ['GET /old', 'redirect 308 /new', { sets: { refresh: '0;url=/new' } }],
      ['GET /old?a=1', 'redirect 308 /new?a=1'],
      ['GET /short/5?a=1', 'redirect 307 /long?id=5'],
      ['GET /x/y/', 'redirect 308 /x/y'],
      ['GET /away', 'redirect 302 https://other.example/x'],
      ['GET /part?utm=1', 'redirect 308 /docs?utm=1#install', { sets: { refresh: '0;url=/docs?utm=1#install' } }],
      ['GET /part', 'redirect 308 /docs#install'],
      ['GET /part-asked?utm=1', 'redirect 307 /docs?own=1#install'],
      ['GET /part-far?utm=1', 'redirect 307 https://other.example?utm=1#/a?b=c'],
      ['GET /not-a-redirect', 'file 200 /not-a-redirect', { sets: { location: '/x' } }],
      ['GET /other-header', 'file 200 /other-header', { sets: { 'x-a': 'b' } }],
      ['GET /with-dest', 'file 200 /not-a-redirect', { sets: { location: '/x' } }],
      ['GET /set-before/1', 'file 200 /set-before/1', { sets: { location: '/y', 'x-a': 'b' } }],
      ['GET /moved/1', 'redirect 301 /not-a-redirect?of=1'],
      ['GET /moved-far?a=1', 'redirect 308 https://other.example/y?a=1'],
      ['GET /moved-both', 'redirect 302 /z'],
    ],
  },
  {
    name: 'a destination with a scheme is another origin',
    config: {
      routes: [
        { handle: 'filesystem' },
        { src: '/api/(.*)', dest: 'https://api.example/v1/$1', check: true },
        { src: '/plain/(.*)', dest: 'HTTP://api.example/$1' },
      ],
    },
    has: { files: ['api/own'] },
    asks: [
      ['GET /api/own', 'file 200 /api/own'],
      ['GET /api/other', 'proxy https://api.example/v1/other'],
      ['GET /plain/x', 'proxy HTTP://api.example/x'],
    ],
  },
  {
    name: 'phases are groups: their order in the file does not matter',
    config: {
      routes: [
        { handle: 'error' },
        { src: '/.*', status: 404, dest: '/missing.html' },
        { handle: 'filesystem' },
        { src: '/page', dest: '/render' },
        { handle: 'error' },
        { src: '/.*', status: 500, dest: '/broken.html' },
      ],
    },
    has: { files: ['missing.html', 'broken.html', 'a.txt'], functions: ['render'] },
    asks: [
      ['GET /a.txt', 'file 200 /a.txt'],
      ['GET /page', 'function render'],
      ['GET /nothing', 'file 404 /missing.html'],
    ],
  },
  {
    name: 'rules before the filesystem come before files, rules after it do not',
    config: {
      routes: [
        { src: '/early', dest: '/other' },
        { handle: 'filesystem' },
        { src: '/late', dest: '/other' },
        { src: '/gone', dest: '/other' },
      ],
    },
    has: { files: ['early', 'late', 'other'] },
    asks: [
      ['GET /early', 'file 200 /other'],
      ['GET /late', 'file 200 /late'],
      ['GET /gone', 'file 200 /other'],
    ],
  },
  {
    name: 'a status without a destination ends routing before the filesystem; `continue` lets others decide',
    config: {
      routes: [
        { src: '/gone', status: 410 },
        { src: '/maybe.*', status: 404, continue: true },
        { src: '/maybe', override: true, continue: true },
        { src: '/soft', status: 200 },
      ],
    },
    has: { files: ['gone/index.html', 'maybe', 'maybe-not', 'soft'] },
    asks: [
      ['GET /gone/x', 'error 404 NOT_FOUND'],
      ['GET /maybe', 'file 200 /maybe'],
      ['GET /maybe-not', 'file 404 /maybe-not'],
      ['GET /soft', 'file 200 /soft'],
    ],
  },
  {
    name: 'a rule without a destination answers its status below 300, such as a preflight, where the path has no output',
    config: {
      routes: [
        { src: '/(.*)', headers: { 'access-control-allow-origin': '*' }, continue: true },
        { src: '/(.*)', status: 204, methods: ['OPTIONS'] },
        { src: '/users/(.*)', dest: '/api/user?id=$1' },
        { handle: 'filesystem' },
        { src: '/late', status: 200 },
        { src: '/(.*)', dest: '/render' },
      ],
    },
    has: { functions: ['api/user', 'render'] },
    asks: [
      ['OPTIONS /users/1', 'status 204', { sets: { 'access-control-allow-origin': '*' } }],
      ['GET /users/1', 'function api/user ?id=1'],
      ['OPTIONS /api/user', 'function 204 api/user'],
      ['GET /late', 'status 200'],
      ['GET /late/1', 'function render'],
    ],
  },
  {
    name: 'a file is served where a rule gives it a status, and what is missing there answers that status',
    config: {
      routes: [
        { handle: 'filesystem' },
        { src: '/immutable/.+', status: 404, headers: { 'cache-control': 'no-store' }, continue: false },
        { src: '/.*', dest: '/catchall' },
      ],
    },
    has: { files: ['immutable/a.js'], functions: ['catchall'] },
    asks: [
      ['GET /immutable/a.js', 'file 200 /immutable/a.js'],
      ['GET /immutable/b.js', 'error 404 NOT_FOUND', { sets: { 'cache-control': 'no-store' } }],
      ['GET /page', 'function catchall'],
    ],
  },
  {
    name: 'dynamic pages: the first rule that matches, files and functions before the catch-all',
    config: {
      routes: [
        { handle: 'rewrite' },
        { src: '^/shop/(?<item>[^/]+?)(?:/)?$', dest: '/shop/[item]?item=$item' },
        { src: '^(?:/(?<rest>.+?))?(?:/)?$', dest: '/[[...rest]]?rest=$rest' },
        { handle: 'resource' },
        { src: '/.*', status: 404 },
        { handle: 'hit' },
        { src: '/index', headers: { 'x-matched-path': '/' }, continue: true, important: true },
        { src: '/((?!index$).*)', headers: { 'x-matched-path': '/$1' }, continue: true, important: true },
      ],
    },
    has: { files: ['icon.png'], functions: ['api/known', 'shop/[item]', '[[...rest]]'] },
    asks: [
      ['GET /api/known', 'function api/known', { sets: { 'x-matched-path': '/api/known' } }],
      ['GET /api/known/', 'function api/known', { sets: { 'x-matched-path': '/api/known' } }],
      ['GET /api/unknown', 'function [[...rest]] ?rest=api%2Funknown', { sets: { 'x-matched-path': '/[[...rest]]' } }],
      ['GET /shop/4', 'function shop/[item] ?item=4', { sets: { 'x-matched-path': '/shop/[item]' } }],
      ['GET /icon.png', 'file 200 /icon.png', { sets: { 'x-matched-path': '/icon.png' } }],
    ],
  },
  {
    name: 'a rule that rewrites data requests falls back to the page, and `check` looks before others decide',
    config: {
      routes: [
        {
          src: '/(.*)',
          has: [{ type: 'header', key: 'x-data' }],
          dest: '/_data/b1/$1.json',
          continue: true,
          override: true,
        },
        { handle: 'rewrite' },
        { src: '/_data/b1/p/(?<id>[^/]+)\\.json', dest: '/p/[id]?id=$id', check: true },
        { src: '/p/(?<id>[^/]+)', dest: '/p/[id]?id=$id' },
        { src: '/_data/b1/(.*)\\.json', dest: 'catchall' },
      ],
    },
    has: { functions: ['p/[id]', 'catchall'] },
    asks: [
      ['GET /p/1', 'function p/[id] ?id=1'],
      ['GET /p/1', 'function p/[id] ?id=1', { headers: { 'x-data': '1' } }],
      ['GET /q', 'function catchall', { headers: { 'x-data': '1' } }],
      ['GET /q', 'error 404 NOT_FOUND'],
    ],
  },
  {
    name: 'rules for misses: their path and status count only where they find something',
    config: {
      routes: [
        { handle: 'miss' },
        { src: '/api/(.+)\\.js', dest: '/api/$1', check: true },
        { src: '/assets/.+', status: 404, dest: '/none.txt', check: true, headers: { 'content-type': 'text/plain' } },
        { src: '/en/(.*)', dest: '/$1', check: true },
        { handle: 'rewrite' },
        { src: '/x/(.*)', dest: '/late' },
        { handle: 'error' },
        { src: '/en/.*', status: 404, dest: '/en-404' },
      ],
    },
    has: { files: ['none.txt', 'page', 'en-404'], functions: ['api/f', 'late'] },
    asks: [
      ['GET /api/f.js', 'function api/f'],
      ['GET /assets/a', 'file 404 /none.txt', { sets: { 'content-type': 'text/plain' } }],
      ['GET /en/page', 'file 200 /page'],
      ['GET /en/x/1', 'function late'],
      ['GET /en/other', 'file 404 /en-404'],
    ],
  },
  {
    name: 'rules that send a request in circles end in the page for what is missing',
    config: {
      routes: [
        { src: '/ping', dest: '/pong', status: 404 },
        { handle: 'filesystem' },
        { src: '/round', dest: '/about' },
        { handle: 'miss' },
        { src: '/pong', dest: '/ping', check: true },
        { src: '/about', dest: '/round', check: true },
      ],
    },
    has: { files: ['404.html'] },
    asks: [
      ['GET /ping', 'error 404 NOT_FOUND'],
      ['GET /round', 'error 404 NOT_FOUND'],
    ],
  },
  {
    name: 'trailing slashes by rules: pages get one, files lose it, dynamic pages are found with it',
    config: {
      routes: [
        { src: '^/((?:[^/]+/)*[^/]+\\.\\w+)/$', status: 308, headers: { Location: '/$1' }, continue: true },
        { src: '^/((?:[^/]+/)*[^/\\.]+)$', status: 308, headers: { Location: '/$1/' }, continue: true },
        { handle: 'rewrite' },
        { src: '^/(?<lang>[^/]+?)(?:/)?$', dest: '/[lang]?lang=$lang' },
        { handle: 'resource' },
        { src: '/.*', status: 404 },
        { handle: 'error' },
        { src: '/.*', dest: '/404', status: 404 },
      ],
      overrides: { '404.html': { path: '404' } },
    },
    has: { files: ['404.html', 'robots.txt'], functions: ['api/f', '[lang]'] },
    asks: [
      ['GET /it', 'redirect 308 /it/'],
      ['GET /it/', 'function [lang] ?lang=it'],
      ['GET /api/f', 'redirect 308 /api/f/'],
      ['GET /api/f/', 'function api/f'],
      ['GET /none/here/', 'file 404 /404'],
      ['GET /robots.txt', 'file 200 /robots.txt'],
      ['GET /robots.txt/', 'redirect 308 /robots.txt'],
    ],
  },
  {
    name: 'languages: the cookie, then accept-language by weight; no redirect to where the visitor is',
    config: {
      routes: [
        {
          src: '^//?(?:it|pt|sv)?/?$',
          locale: { redirect: { sv: 'https://site.se/' }, cookie: 'LANG' },
          continue: true,
        },
        { src: '/', locale: { redirect: { it: '/', pt: '/pt', SV: '/sv' }, cookie: 'LANG' }, continue: true },
        { src: '^/$', dest: '/it', continue: true },
        { src: '^/(?!(?:it|pt|sv)(?:/.*|$))(.*)$', dest: '/it/$1', continue: true },
        { handle: 'miss' },
        { src: '^/(?:it|pt|sv)/(.*)', dest: '/$1', check: true },
        { handle: 'error' },
        { src: '/(?<lang>it|pt)(/.*|$)', dest: '/$lang/404', status: 404, caseSensitive: true },
        { src: '/.*', dest: '/it/404', status: 404 },
      ],
    },
    has: { files: ['it/index', 'pt/index', 'pt/404', 'it/404'], functions: ['shared'] },
    asks: [
      ['GET /', 'file 200 /it/index'],
      ['GET /pt', 'file 200 /pt/index'],
      ['GET /', 'redirect 307 /pt', { headers: { 'accept-language': 'pt' } }],
      ['GET /', 'redirect 307 /pt', { headers: { 'accept-language': 'xx, it;q=0.4, pt-BR;q=0.8' } }],
      ['GET /', 'file 200 /it/index', { headers: { 'accept-language': 'pt;q=0, *' } }],
      ['GET /', 'redirect 307 /pt', { headers: { cookie: 'LANG=pt', 'accept-language': 'sv' } }],
      ['GET /', 'file 200 /it/index', { headers: { cookie: 'LANG=it' } }],
      ['GET /', 'redirect 307 https://site.se/', { headers: { 'accept-language': 'sv' } }],
      ['GET /pt', 'redirect 307 https://site.se/', { headers: { cookie: 'LANG=sv' } }],
      ['GET /pt', 'file 200 /pt/index', { headers: { 'accept-language': 'it' } }],
      ['GET /shared', 'function shared'],
      ['GET /pt/shared', 'function shared'],
      ['GET /pt/none', 'file 404 /pt/404'],
      ['GET /none', 'file 404 /it/404'],
    ],
  },
  {
    name: 'languages with domains: a visitor who is at the one of their language stays',
    config: {
      wildcard: [
        { domain: 'site.se', value: '/sv' },
        { domain: 'site.example', value: '/it' },
      ],
      routes: [
        { src: '^/(?!(?:it|sv|sv-FI)(?:/.*|$))$', dest: '$wildcard', continue: true },
        { src: '^/(?!(?:it|sv|sv-FI)(?:/.*|$))(.*)$', dest: '$wildcard/$1', continue: true },
        {
          src: '^//?(?:it|sv|sv-FI)?/?$',
          locale: {
            redirect: { it: 'https://site.example/', sv: 'https://site.se/', 'sv-FI': 'https://site.se/sv-FI' },
          },
          continue: true,
        },
        { src: '/', locale: { redirect: { it: '/', sv: '/sv', 'sv-FI': '/sv-FI' } }, continue: true },
      ],
    },
    has: { files: ['it/index', 'sv/index', 'sv-FI/index'] },
    asks: [
      ['GET /', 'file 200 /sv/index', { host: 'site.se', headers: { 'accept-language': 'sv' } }],
      ['GET /', 'file 200 /sv/index', { host: 'Site.SE:8443', headers: { 'accept-language': 'sv' } }],
      ['GET /sv-FI', 'file 200 /sv-FI/index', { host: 'site.se', headers: { 'accept-language': 'sv-FI' } }],
      ['GET /sv-FI/', 'file 200 /sv-FI/index', { host: 'site.se', headers: { 'accept-language': 'sv-FI' } }],
      ['GET /sv', 'redirect 307 https://site.se/', { host: 'site.se', headers: { 'accept-language': 'sv' } }],
      ['GET /', 'redirect 307 https://site.se/', { headers: { 'accept-language': 'sv' } }],
      ['GET /', 'redirect 307 https://site.example/', { host: 'site.se', headers: { 'accept-language': 'it' } }],
      ['GET /', 'file 200 /it/index', { headers: { 'accept-language': 'it' } }],
    ],
  },
  {
    name: 'domains with a value of their own',
    config: { routes: [{ src: '/(.*)', dest: '$wildcard/$1' }], wildcard: [{ domain: 'Site.ES', value: '/es' }] },
    has: { files: ['es/a', 'a'] },
    asks: [
      ['GET /a', 'file 200 /es/a', { host: 'site.es' }],
      ['GET /a', 'file 200 /a', { host: 'site.example' }],
    ],
  },
  {
    name: 'headers: later rules replace earlier ones; of important ones the first stays and wins',
    config: {
      routes: [
        { src: '/(.*)', headers: { 'X-A': '1', 'x-b': 'of-$1' }, continue: true },
        { src: '/f', headers: { 'x-a': '2' }, continue: true },
        { src: '/f', headers: { 'x-i': 'first' }, continue: true, important: true },
        { src: '/f', headers: { 'x-i': 'second' }, continue: true, important: true },
        { src: '/f', headers: { 'x-i': 'third' }, continue: true },
        { handle: 'hit' },
        { src: '/(f)', headers: { 'x-hit': '$1' }, continue: true },
      ],
    },
    has: { files: ['f'] },
    asks: [['GET /f', 'file 200 /f', { sets: { 'x-a': '2', 'x-b': 'of-f', 'x-i': 'first', 'x-hit': 'f' } }]],
  },
  {
    name: 'headers of rules for hits and misses stay behind those of rules before them, but for important ones',
    config: {
      routes: [
        { src: '/early', headers: { 'x-a': 'early' }, dest: '/p.html' },
        { handle: 'filesystem' },
        { src: '/([^/]+)', headers: { 'x-a': 'filesystem' }, dest: '/blog/$1', check: true },
        { handle: 'miss' },
        { src: '/blog/([^/]+)', headers: { 'x-a': 'miss', 'x-b': 'miss' }, dest: '/src/$1.html', check: true },
        { handle: 'hit' },
        { src: '/.*', headers: { 'x-a': 'hit', 'x-b': 'hit', 'x-c': 'hit' }, continue: true },
        { src: '/.*', headers: { 'x-c': 'later hit' }, continue: true },
        { src: '/src/i.html', headers: { 'x-a': 'important' }, continue: true, important: true },
      ],
    },
    has: { files: ['p.html', 'src/b.html', 'src/i.html'] },
    asks: [
      ['GET /early', 'file 200 /p.html', { sets: { 'x-a': 'early', 'x-b': 'hit', 'x-c': 'later hit' } }],
      ['GET /b', 'file 200 /src/b.html', { sets: { 'x-a': 'filesystem', 'x-b': 'miss', 'x-c': 'later hit' } }],
      ['GET /blog/b', 'file 200 /src/b.html', { sets: { 'x-a': 'miss', 'x-b': 'miss' } }],
      ['GET /i', 'file 200 /src/i.html', { sets: { 'x-a': 'important', 'x-b': 'miss' } }],
    ],
  },
  {
    name: 'errors: the rule of the status, else the file of the status',
    config: {
      routes: [
        { src: '/teapot', status: 418 },
        { handle: 'error' },
        { status: 404, src: '^(?!/api).*$', dest: '/oops' },
      ],
    },
    has: { files: ['oops', '404', '418/index.html'] },
    asks: [
      ['GET /none', 'file 404 /oops'],
      ['GET /api/none', 'file 404 /404'],
      ['GET /teapot', 'file 418 /418/index.html'],
    ],
  },
  {
    name: 'requests that a rule refuses; a challenge refuses too',
    config: {
      routes: [
        { src: '/admin', mitigate: { action: 'deny' } },
        { src: '/bots', mitigate: { action: 'challenge' } },
      ],
    },
    has: { files: ['admin', 'bots'] },
    asks: [
      ['GET /admin', 'error 403 DENIED'],
      ['GET /bots', 'error 403 DENIED'],
    ],
  },
  {
    name: 'pictures are asked where the deployment has a configuration for them',
    config: { images: { sizes: [640] } },
    has: { files: ['_next/image'] },
    asks: [
      ['GET /_vercel/image?url=%2Fa.png&w=640&q=75', 'image /a.png 640 75'],
      ['GET /_next/image/?url=%2Fa.png%3Fv&w=640&q=1', 'image /a.png?v 640 1'],
      ['GET /_next/image/?w=1', 'image "url" parameter is required'],
    ],
  },
  {
    name: 'without such a configuration the path is a path like others',
    has: { files: ['_next/image'] },
    asks: [
      ['GET /_next/image?w=1', 'file 200 /_next/image'],
      ['GET /_vercel/image?w=1', 'error 404 NOT_FOUND'],
    ],
  },
  {
    name: 'transforms of the query: delete, set, append, also for the names that match',
    config: {
      routes: [
        { src: '/del', continue: true, transforms: [{ type: 'request.query', op: 'delete', target: { key: 'a' } }] },
        {
          src: '/set',
          continue: true,
          transforms: [{ type: 'request.query', op: 'set', target: { key: 'a' }, args: ['1', '2'] }],
        },
        {
          src: '/app',
          continue: true,
          transforms: [{ type: 'request.query', op: 'append', target: { key: 'a' }, args: 'z' }],
        },
        {
          src: '/pre',
          continue: true,
          transforms: [{ type: 'request.query', op: 'delete', target: { key: { pre: 'utm_' } } }],
        },
        { src: '/.*', dest: '/f' },
      ],
    },
    has: { functions: ['f'] },
    asks: [
      ['GET /del?a=1&b=2&a=3', 'function f ?b=2'],
      ['GET /set?a=9&b=2', 'function f ?b=2&a=1&a=2'],
      ['GET /app?a=9', 'function f ?a=9&a=z'],
      ['GET /pre?utm_a=1&b=2&utm_c', 'function f ?b=2'],
    ],
  },
]

for (const { name, config = {}, has = {}, asks } of FACTS) {
  test(name, async () => {
    const site = await siteOf(config, has)
    const got = asks.map(
      ([line, , { headers, host } = {}]) => `${line} → ${lineOf(resolve(site, requestOf(line, headers, host)))}`,
    )
    assert.deepEqual(
      got,
      asks.map(([line, decision]) => `${line} → ${decision}`),
    )
    for (const [line, , { headers, host, sets } = {}] of asks) {
      const all = headersOf(resolve(site, requestOf(line, headers, host)))
      for (const [header, value] of Object.entries(sets ?? {})) assert.equal(all[header], value, `${line}: ${header}`)
    }
  })
}

test('a function is asked with the path of the visitor, and a transform gives it another one', async () => {
  const config = {
    routes: [
      { handle: 'filesystem' },
      { src: '/app/(.*)', dest: '/', transforms: [{ type: 'request.path', op: 'set', args: '/$1' }] },
      { src: '/plain/(.*)', dest: '/?all=$1' },
      { src: '/hit', dest: '/in-hit' },
      { handle: 'hit' },
      { src: '/in-(.*)', transforms: [{ type: 'request.path', op: 'set', args: '/of-$1' }] },
    ],
  }
  const site = await siteOf(config, { functions: ['index', 'in-hit'] })
  const hit = resolve(site, requestOf('GET /hit'))
  assert.ok(hit.kind === 'function')
  assert.equal(hit.invocation.path, '/of-hit')
  const asked = resolve(site, requestOf('GET /app/users/1?q=2'))
  assert.ok(asked.kind === 'function')
  assert.deepEqual(asked.invocation, {
    path: '/users/1',
    search: '?q=2',
    matchedPath: '/',
    concretePath: '/users/1',
    routeMatches: '',
  })
  const plain = resolve(site, requestOf('GET /plain/a/b'))
  assert.ok(plain.kind === 'function')
  assert.equal(plain.invocation.path, '/plain/a/b')
  assert.equal(plain.invocation.routeMatches, 'all=a%2Fb')
})

test('a prerendered page is made for the concrete path with its suffix, not for that of the output', async () => {
  const config = {
    routes: [
      {
        src: '/(?!.+\\.rsc)(.+)',
        has: [{ type: 'header', key: 'rsc', value: '1' }],
        dest: '/$1.rsc',
        continue: true,
        override: true,
      },
      { handle: 'rewrite' },
      { src: '^/post/(?<id>[^/]+?)(?<suffix>\\.rsc)$', dest: '/post/[id]$suffix?id=$id', check: true, override: true },
      { src: '^/post/(?<id>[^/]+?)$', dest: '/post/[id]?id=$id', check: true, override: true },
    ],
  }
  const prerender = { type: 'Prerender', expiration: 60, allowQuery: ['id'] }
  const site = await siteOf(config, {
    prerenders: { 'post/[id]': prerender, 'post/[id].rsc': prerender, about: prerender },
  })
  const concrete = (line: string, headers = {}) => {
    const decision = resolve(site, requestOf(line, headers))
    assert.ok(decision.kind === 'prerender', decision.kind)
    return [decision.path, decision.invocation.concretePath, decision.invocation.routeMatches]
  }
  assert.deepEqual(concrete('GET /post/7'), ['/post/[id]', '/post/7', 'id=7'])
  assert.deepEqual(concrete('GET /post/7', { rsc: '1' }), ['/post/[id].rsc', '/post/7.rsc', 'id=7'])
  assert.deepEqual(concrete('GET /about'), ['/about', '/about', ''])
})

test('the name of an output is escaped where it is a path of a request: a function is asked by it', async () => {
  const prerender = { type: 'Prerender', expiration: 60 }
  const names = ['blog/日本 x', 'a?b#c', '😀', 'p%20q', '[id]']
  const site = await siteOf({}, { prerenders: Object.fromEntries(names.map((name) => [name, prerender])) })
  const asked = ['/blog/%E6%97%A5%E6%9C%AC%20x', '/a%3Fb%23c', '/%F0%9F%98%80', '/p%20q', '/[id]'].map((path) => {
    const decision = resolve(site, requestOf(`GET ${path}`))
    assert.ok(decision.kind === 'prerender', path)
    assert.equal(decision.invocation.matchedPath, path)
    return decision.invocation.concretePath === path
  })
  assert.deepEqual(asked, [true, true, true, true, true])
})

test('request headers that rules change reach the function; others are not repeated', async () => {
  const config = {
    routes: [
      {
        src: '/changed/(.*)',
        dest: '/f',
        transforms: [
          { type: 'request.headers', op: 'set', target: { key: 'X-Set' }, args: 'v$1' },
          { type: 'request.headers', op: 'append', target: { key: 'accept' }, args: 'text/b' },
          { type: 'request.headers', op: 'delete', target: { key: 'x-gone' } },
          { type: 'response.headers', op: 'set', target: { key: 'x-reply' }, args: ['1', '2'] },
        ],
      },
    ],
  }
  const site = await siteOf(config, { functions: ['f'] })
  const changed = resolve(site, requestOf('GET /changed/1', { accept: 'text/a', 'x-gone': '1', 'x-stays': '1' }))
  assert.ok(changed.kind === 'function')
  assert.deepEqual(Object.fromEntries(changed.invocation.headers ?? []), {
    accept: 'text/a, text/b',
    'x-stays': '1',
    'x-set': 'v1',
  })
  assert.deepEqual(responseHeaders(changed, [{ name: 'x-reply', value: 'own' }]), [{ name: 'x-reply', value: '1, 2' }])
  const same = resolve(site, requestOf('GET /f', { accept: 'text/a' }))
  assert.ok(same.kind === 'function')
  assert.equal(same.invocation.headers, undefined)
})

test('a decision names what its rules looked at, and is not used again for another path or method, or another query that is part of it', async () => {
  const config = {
    routes: [
      { src: '/plain', headers: { 'x-a': '1' }, continue: true },
      { src: '/cond', has: [{ type: 'header', key: 'x' }], dest: '/b' },
      { src: '/post', methods: ['POST'], dest: '/b' },
      { src: '/old', status: 308, headers: { location: '/b' } },
    ],
  }
  const site = await siteOf(config, { files: ['plain', 'cond', 'post', 'b'], functions: ['f'] })
  const looked = (line: string) => {
    const decision = resolve(site, requestOf(line))
    return decision.reusable ? [...decision.looked.keys()] : undefined
  }
  // A rule with a condition counts where it does not match, too: another request may match.
  assert.deepEqual(
    ['/plain', '/none', '/cond', '/post', '/old', '/f'].map((path) => looked(`GET ${path}`)),
    [[], [], ['header x'], [], undefined, []],
  )
  const plain = await siteOf(
    {
      routes: [
        { src: '/plain', headers: { 'x-a': '1' }, continue: true },
        { src: '/(?<id>\\d+)', dest: '/f?id=$id' },
      ],
    },
    { files: ['plain'], functions: ['f'] },
  )
  assert.equal(resolve(plain, requestOf('GET /plain?a=1')).reusable, true)
  assert.equal(resolve(plain, requestOf('GET /none')).reusable, true)
  assert.equal(resolve(plain, requestOf('GET /f?a=1')).reusable, true)
  assert.equal(resolve(plain, requestOf('GET /7')).reusable, false, 'its query has a part of the rule')
})

test('the page of an error that the server found is that of the deployment, with the headers of its rules', async () => {
  const config = { routes: [{ handle: 'error' }, { src: '/.*', dest: '/500', status: 500, headers: { 'x-e': '500' } }] }
  const site = await siteOf(config, { files: ['500', '502.html'] })
  const broken = resolveError(site, requestOf('GET /api/f'), 500)
  assert.equal(lineOf(broken), 'file 500 /500')
  assert.equal(headersOf(broken)['x-e'], '500')
  assert.equal(lineOf(resolveError(site, requestOf('GET /api/f'), 504)), 'error 504 STATUS')
})

test('a decision names the rules that matched, by their place in config.json', async () => {
  const routes = [
    { src: '/a', headers: { x: '1' }, continue: true },
    { src: '/b', dest: '/c' },
    { handle: 'filesystem' },
    { src: '/a', dest: '/c' },
  ]
  const site = await siteOf({ routes }, { files: ['c'] })
  assert.deepEqual(resolve(site, requestOf('GET /a')).rules, [0, 3])
})

test('headers of a response: rules over its own, transforms over both, also for names that match, and never the framing', async () => {
  const transform = (op: string, key: unknown, args?: string) => ({
    type: 'response.headers',
    op,
    target: { key },
    args,
  })
  const config = {
    routes: [
      {
        src: '/f',
        headers: { 'x-a': 'rule' },
        transforms: [
          transform('append', 'x-a', 'more'),
          transform('delete', { pre: 'x-powered' }),
          transform('delete', { pre: 'content-' }),
          transform('append', 'x-new', '1'),
        ],
      },
    ],
  }
  const site = await siteOf(config, { functions: ['f'] })
  const own = [
    { name: 'x-a', value: 'own' },
    { name: 'x-powered-by', value: 'x' },
    { name: 'content-length', value: '3' },
    { name: 'content-type', value: 'a/b' },
  ]
  assert.deepEqual(
    responseHeaders(resolve(site, requestOf('GET /f')), own).map(({ name, value }) => `${name}: ${value}`),
    ['x-a: rule, more', 'content-length: 3', 'x-new: 1'],
  )
})
