#!/usr/bin/env node
import { runAsProcess } from "../dist/run-as-process.js";

await runAsProcess();
