"""The functions of CUDA's libdevice as `triton.language.extra.cuda.libdevice` offers them: names, types, symbols.

One line a function: `name: symbol(argument types) result type; ...`, symbols without `__nv_`, one entry an overload.
"""

TABLE = """
# integers and bits
clz: clz(int32) int32; clzll(int64) int32
popc: popc(int32) int32; popcll(int64) int32
ffs: ffs(int32) int32; ffsll(int64) int32
brev: brev(int32) int32; brevll(int64) int64
byte_perm: byte_perm(int32 int32 int32) int32
mulhi: mulhi(int32 int32) int32; umulhi(uint32 uint32) uint32;\
 mul64hi(int64 int64) int64; umul64hi(uint64 uint64) uint64
mul24: mul24(int32 int32) int32; umul24(uint32 uint32) uint32
sad: sad(int32 int32 uint32) int32; usad(uint32 uint32 uint32) uint32
hadd: hadd(int32 int32) int32; uhadd(uint32 uint32) uint32
rhadd: rhadd(int32 int32) int32; urhadd(uint32 uint32) uint32
# basic
abs: abs(int32) int32; llabs(int64) int64; fabsf(fp32) fp32; fabs(fp64) fp64
copysign: copysignf(fp32 fp32) fp32; copysign(fp64 fp64) fp64
floor: floorf(fp32) fp32; floor(fp64) fp64
ceil: ceil(fp64) fp64; ceilf(fp32) fp32
trunc: trunc(fp64) fp64; truncf(fp32) fp32
rint: rintf(fp32) fp32; rint(fp64) fp64
nearbyint: nearbyintf(fp32) fp32; nearbyint(fp64) fp64
round: roundf(fp32) fp32; round(fp64) fp64
llrint: llrintf(fp32) int64; llrint(fp64) int64
llround: llroundf(fp32) int64; llround(fp64) int64
fdim: fdimf(fp32 fp32) fp32; fdim(fp64 fp64) fp64
fma: fmaf(fp32 fp32 fp32) fp32; fma(fp64 fp64 fp64) fp64
fmod: fmodf(fp32 fp32) fp32; fmod(fp64 fp64) fp64
remainder: remainderf(fp32 fp32) fp32; remainder(fp64 fp64) fp64
nextafter: nextafterf(fp32 fp32) fp32; nextafter(fp64 fp64) fp64
ldexp: ldexpf(fp32 int32) fp32; ldexp(fp64 int32) fp64
scalbn: scalbnf(fp32 int32) fp32; scalbn(fp64 int32) fp64
ilogb: ilogbf(fp32) int32; ilogb(fp64) int32
logb: logbf(fp32) fp32; logb(fp64) fp64
saturatef: saturatef(fp32) fp32
# classes (upstream turns the result into bool)
isnan: isnanf(fp32) int32; isnand(fp64) int32
isinf: isinff(fp32) int32; isinfd(fp64) int32
finitef: finitef(fp32) int32
isfinited: isfinited(fp64) int32
# classes
signbit: signbitf(fp32) int32; signbitd(fp64) int32
# powers
sqrt: sqrtf(fp32) fp32; sqrt(fp64) fp64
rsqrt: rsqrtf(fp32) fp32; rsqrt(fp64) fp64
rsqrt_rn: frsqrt_rn(fp32) fp32
cbrt: cbrtf(fp32) fp32; cbrt(fp64) fp64
rcbrt: rcbrtf(fp32) fp32; rcbrt(fp64) fp64
pow: powif(fp32 int32) fp32; powi(fp64 int32) fp64; powf(fp32 fp32) fp32; pow(fp64 fp64) fp64
hypot: hypotf(fp32 fp32) fp32; hypot(fp64 fp64) fp64
rhypot: rhypotf(fp32 fp32) fp32; rhypot(fp64 fp64) fp64
norm3d: norm3df(fp32 fp32 fp32) fp32; norm3d(fp64 fp64 fp64) fp64
rnorm3d: rnorm3df(fp32 fp32 fp32) fp32; rnorm3d(fp64 fp64 fp64) fp64
norm4d: norm4df(fp32 fp32 fp32 fp32) fp32; norm4d(fp64 fp64 fp64 fp64) fp64
rnorm4d: rnorm4df(fp32 fp32 fp32 fp32) fp32; rnorm4d(fp64 fp64 fp64 fp64) fp64
# exponential
exp: expf(fp32) fp32; exp(fp64) fp64
exp2: exp2f(fp32) fp32; exp2(fp64) fp64
exp10: exp10f(fp32) fp32; exp10(fp64) fp64
expm1: expm1f(fp32) fp32; expm1(fp64) fp64
log: logf(fp32) fp32; log(fp64) fp64
log2: log2f(fp32) fp32; log2(fp64) fp64
log10: log10f(fp32) fp32; log10(fp64) fp64
log1p: log1pf(fp32) fp32; log1p(fp64) fp64
# trigonometric and hyperbolic
sin: sinf(fp32) fp32; sin(fp64) fp64
cos: cosf(fp32) fp32; cos(fp64) fp64
tan: tanf(fp32) fp32; tan(fp64) fp64
sinpi: sinpif(fp32) fp32; sinpi(fp64) fp64
cospi: cospif(fp32) fp32; cospi(fp64) fp64
asin: asinf(fp32) fp32; asin(fp64) fp64
acos: acosf(fp32) fp32; acos(fp64) fp64
atan: atanf(fp32) fp32; atan(fp64) fp64
atan2: atan2f(fp32 fp32) fp32; atan2(fp64 fp64) fp64
sinh: sinhf(fp32) fp32; sinh(fp64) fp64
cosh: coshf(fp32) fp32; cosh(fp64) fp64
tanh: tanhf(fp32) fp32; tanh(fp64) fp64
asinh: asinhf(fp32) fp32; asinh(fp64) fp64
acosh: acoshf(fp32) fp32; acosh(fp64) fp64
atanh: atanhf(fp32) fp32; atanh(fp64) fp64
# special
erf: erff(fp32) fp32; erf(fp64) fp64
erfc: erfcf(fp32) fp32; erfc(fp64) fp64
erfcx: erfcxf(fp32) fp32; erfcx(fp64) fp64
erfinv: erfinvf(fp32) fp32; erfinv(fp64) fp64
erfcinv: erfcinvf(fp32) fp32; erfcinv(fp64) fp64
normcdf: normcdff(fp32) fp32; normcdf(fp64) fp64
normcdfinv: normcdfinvf(fp32) fp32; normcdfinv(fp64) fp64
lgamma: lgammaf(fp32) fp32; lgamma(fp64) fp64
tgamma: tgammaf(fp32) fp32; tgamma(fp64) fp64
j0: j0f(fp32) fp32; j0(fp64) fp64
j1: j1f(fp32) fp32; j1(fp64) fp64
jn: jnf(int32 fp32) fp32; jn(int32 fp64) fp64
y0: y0f(fp32) fp32; y0(fp64) fp64
y1: y1f(fp32) fp32; y1(fp64) fp64
yn: ynf(int32 fp32) fp32; yn(int32 fp64) fp64
cyl_bessel_i0: cyl_bessel_i0f(fp32) fp32; cyl_bessel_i0(fp64) fp64
cyl_bessel_i1: cyl_bessel_i1f(fp32) fp32; cyl_bessel_i1(fp64) fp64
# fast forms: here as exact as the others
fast_dividef: fast_fdividef(fp32 fp32) fp32
fast_sinf: fast_sinf(fp32) fp32
fast_cosf: fast_cosf(fp32) fp32
fast_log2f: fast_log2f(fp32) fp32
fast_logf: fast_logf(fp32) fp32
fast_expf: fast_expf(fp32) fp32
fast_tanf: fast_tanf(fp32) fp32
fast_exp10f: fast_exp10f(fp32) fp32
fast_log10f: fast_log10f(fp32) fp32
fast_tanhf: fast_tanhf(fp32) fp32
fast_powf: fast_powf(fp32 fp32) fp32
# arithmetic in a rounding mode
fma_rn: fmaf_rn(fp32 fp32 fp32) fp32; fma_rn(fp64 fp64 fp64) fp64
fma_rz: fmaf_rz(fp32 fp32 fp32) fp32; fma_rz(fp64 fp64 fp64) fp64
fma_rd: fmaf_rd(fp32 fp32 fp32) fp32; fma_rd(fp64 fp64 fp64) fp64
fma_ru: fmaf_ru(fp32 fp32 fp32) fp32; fma_ru(fp64 fp64 fp64) fp64
div_rn: fdiv_rn(fp32 fp32) fp32; ddiv_rn(fp64 fp64) fp64
div_rz: fdiv_rz(fp32 fp32) fp32; ddiv_rz(fp64 fp64) fp64
div_rd: fdiv_rd(fp32 fp32) fp32; ddiv_rd(fp64 fp64) fp64
div_ru: fdiv_ru(fp32 fp32) fp32; ddiv_ru(fp64 fp64) fp64
rcp_rn: frcp_rn(fp32) fp32; drcp_rn(fp64) fp64
rcp_rz: frcp_rz(fp32) fp32; drcp_rz(fp64) fp64
rcp_rd: frcp_rd(fp32) fp32; drcp_rd(fp64) fp64
rcp_ru: frcp_ru(fp32) fp32; drcp_ru(fp64) fp64
sqrt_rn: fsqrt_rn(fp32) fp32; dsqrt_rn(fp64) fp64
sqrt_rz: fsqrt_rz(fp32) fp32; dsqrt_rz(fp64) fp64
sqrt_rd: fsqrt_rd(fp32) fp32; dsqrt_rd(fp64) fp64
sqrt_ru: fsqrt_ru(fp32) fp32; dsqrt_ru(fp64) fp64
add_rn: dadd_rn(fp64 fp64) fp64; fadd_rn(fp32 fp32) fp32
add_rz: dadd_rz(fp64 fp64) fp64; fadd_rz(fp32 fp32) fp32
add_rd: dadd_rd(fp64 fp64) fp64; fadd_rd(fp32 fp32) fp32
add_ru: dadd_ru(fp64 fp64) fp64; fadd_ru(fp32 fp32) fp32
mul_rn: dmul_rn(fp64 fp64) fp64; fmul_rn(fp32 fp32) fp32
mul_rz: dmul_rz(fp64 fp64) fp64; fmul_rz(fp32 fp32) fp32
mul_rd: dmul_rd(fp64 fp64) fp64; fmul_rd(fp32 fp32) fp32
mul_ru: dmul_ru(fp64 fp64) fp64; fmul_ru(fp32 fp32) fp32
sub_rn: fsub_rn(fp32 fp32) fp32; dsub_rn(fp64 fp64) fp64
sub_rz: fsub_rz(fp32 fp32) fp32; dsub_rz(fp64 fp64) fp64
sub_rd: fsub_rd(fp32 fp32) fp32; dsub_rd(fp64 fp64) fp64
sub_ru: fsub_ru(fp32 fp32) fp32; dsub_ru(fp64 fp64) fp64
# conversions and representation
rcp64h: rcp64h(fp64) fp64
double2float_rn: double2float_rn(fp64) fp32
double2float_rz: double2float_rz(fp64) fp32
double2float_rd: double2float_rd(fp64) fp32
double2float_ru: double2float_ru(fp64) fp32
double2int_rn: double2int_rn(fp64) int32
double2int_rz: double2int_rz(fp64) int32
double2int_rd: double2int_rd(fp64) int32
double2int_ru: double2int_ru(fp64) int32
double2uint_rn: double2uint_rn(fp64) int32
double2uint_rz: double2uint_rz(fp64) int32
double2uint_rd: double2uint_rd(fp64) int32
double2uint_ru: double2uint_ru(fp64) int32
int2double_rn: int2double_rn(int32) fp64
uint2double_rn: uint2double_rn(uint32) fp64
float2int_rn: float2int_rn(fp32) int32
float2int_rz: float2int_rz(fp32) int32
float2int_rd: float2int_rd(fp32) int32
float2int_ru: float2int_ru(fp32) int32
float2uint_rn: float2uint_rn(fp32) int32
float2uint_rz: float2uint_rz(fp32) int32
float2uint_rd: float2uint_rd(fp32) int32
float2uint_ru: float2uint_ru(fp32) int32
int2float_rn: int2float_rn(int32) fp32
int2float_rz: int2float_rz(int32) fp32
int2float_rd: int2float_rd(int32) fp32
int2float_ru: int2float_ru(int32) fp32
uint2float_rn: uint2float_rn(uint32) fp32
uint2float_rz: uint2float_rz(uint32) fp32
uint2float_rd: uint2float_rd(uint32) fp32
uint2float_ru: uint2float_ru(uint32) fp32
hiloint2double: hiloint2double(int32 int32) fp64
double2loint: double2loint(fp64) int32
double2hiint: double2hiint(fp64) int32
float2ll_rn: float2ll_rn(fp32) int64
float2ll_rz: float2ll_rz(fp32) int64
float2ll_rd: float2ll_rd(fp32) int64
float2ll_ru: float2ll_ru(fp32) int64
float2ull_rn: float2ull_rn(fp32) int64
float2ull_rz: float2ull_rz(fp32) int64
float2ull_rd: float2ull_rd(fp32) int64
float2ull_ru: float2ull_ru(fp32) int64
double2ll_rn: double2ll_rn(fp64) int64
double2ll_rz: double2ll_rz(fp64) int64
double2ll_rd: double2ll_rd(fp64) int64
double2ll_ru: double2ll_ru(fp64) int64
double2ull_rn: double2ull_rn(fp64) int64
double2ull_rz: double2ull_rz(fp64) int64
double2ull_rd: double2ull_rd(fp64) int64
double2ull_ru: double2ull_ru(fp64) int64
ll2float_rn: ll2float_rn(int64) fp32
ll2float_rz: ll2float_rz(int64) fp32
ll2float_rd: ll2float_rd(int64) fp32
ll2float_ru: ll2float_ru(int64) fp32
ull2float_rn: ull2float_rn(uint64) fp32
ull2float_rz: ull2float_rz(uint64) fp32
ull2float_rd: ull2float_rd(uint64) fp32
ull2float_ru: ull2float_ru(uint64) fp32
ll2double_rn: ll2double_rn(int64) fp64
ll2double_rz: ll2double_rz(int64) fp64
ll2double_rd: ll2double_rd(int64) fp64
ll2double_ru: ll2double_ru(int64) fp64
ull2double_rn: ull2double_rn(uint64) fp64
ull2double_rz: ull2double_rz(uint64) fp64
ull2double_rd: ull2double_rd(uint64) fp64
ull2double_ru: ull2double_ru(uint64) fp64
int_as_float: int_as_float(int32) fp32
float_as_int: float_as_int(fp32) int32
uint_as_float: uint_as_float(uint32) fp32
float_as_uint: float_as_uint(fp32) int32
longlong_as_double: longlong_as_double(int64) fp64
double_as_longlong: double_as_longlong(fp64) int64
"""
