/** A NestJS app without configuration. docs/frameworks.md. */
import { json } from '../source-builds.ts'
import { serverApp } from './servers.ts'

const NEST_VERSION = '12.5.1'
export const NEST = serverApp(
  'nest',
  {
    ...{ '@nestjs/core': NEST_VERSION, '@nestjs/common': NEST_VERSION, '@nestjs/platform-express': NEST_VERSION },
    ...{ 'reflect-metadata': '0.2.2', rxjs: '7.8.2', '@types/express': '5.0.6' },
  },
  {
    'tsconfig.json': json({
      compilerOptions: {
        ...{ module: 'nodenext', target: 'es2023', outDir: 'dist', skipLibCheck: true },
        ...{ experimentalDecorators: true, emitDecoratorMetadata: true },
      },
      include: ['src'],
    }),
    'src/main.ts': `import 'reflect-metadata'
import { NestFactory } from '@nestjs/core'
import type { NestExpressApplication } from '@nestjs/platform-express'
import { AppModule } from './app.module.js'
const app = await NestFactory.create<NestExpressApplication>(AppModule)
app.set('trust proxy', 'loopback')
await app.listen(process.env.PORT ?? 3000)
`,
    'src/app.module.ts': `import { Module } from '@nestjs/common'
import { AppController } from './app.controller.js'
import { AppService } from './app.service.js'
@Module({ controllers: [AppController], providers: [AppService] })
export class AppModule {}
`,
    'src/app.service.ts': `import { Injectable } from '@nestjs/common'
@Injectable()
export class AppService {
  greeting() { return process.env.GREETING }
}
`,
    'src/app.controller.ts': `import { Body, Controller, Get, Header, HttpCode, Param, Post, Query, Redirect, Req, Res } from '@nestjs/common'
import type { Request, Response } from 'express'
import { AppService } from './app.service.js'
let release = () => {}
@Controller()
export class AppController {
  constructor(private readonly service: AppService) {}
  @Get() home() { return '<h1>home</h1>' }
  @Get('live/:id') live(@Param('id') id: string, @Query('q') q: string[] = []) {
    return { id, q, at: Date.now(), greeting: this.service.greeting() }
  }
  @Get('who') who(@Req() request: Request) { return request.protocol + '://' + request.headers.host + ' ' + request.ip }
  @Post('echo') @HttpCode(201) echo(@Body() body: object) { return body }
  @Post('form') form(@Body('word') word: string, @Res() response: Response) { response.cookie('said', word).redirect(303, '/') }
  @Get('said') @Header('x-page', 'said') said(@Req() request: Request) { return 'said ' + /said=(\\w+)/.exec(request.headers.cookie ?? '')?.[1] }
  @Get('old') @Redirect('/live/1', 301) old() {}
  @Get('broken') broken() { throw new Error('secret reason') }
  @Get('stream') stream(@Res() response: Response) {
    response.write('first part')
    release = () => { response.end('last part') }
  }
  @Get('release') release() { release(); return 'released' }
}
`,
  },
)
