//! DBMS_RESULT_CACHE.

use super::package::*;
use crate::requests::ResultCacheRequest;
use crate::world::World;

package! {
    "DBMS_RESULT_CACHE",
    "package dbms_result_cache is
       status_byps constant varchar2(10) := 'BYPASS'; status_disa constant varchar2(10) := 'DISABLED';
       status_enab constant varchar2(10) := 'ENABLED'; status_sync constant varchar2(10) := 'SYNC';
       function status return varchar2;
       procedure flush(retainmem boolean default false, retainsta boolean default false, global boolean default false);
       function flush(retainmem boolean default false, retainsta boolean default false, global boolean default false)
         return boolean;
       procedure bypass(bypass_mode boolean, session boolean default false);
       procedure memory_report(detailed boolean default false);
       procedure invalidate(owner varchar2, name varchar2);
       function invalidate(owner varchar2, name varchar2) return number;
       procedure invalidate(object_id integer);
       function invalidate(object_id integer) return number;
     end;";
    "STATUS" 1 => status,
    "FLUSH" 1 => flush,
    "FLUSH" 2 => flush,
    "BYPASS" 1 => bypass,
    "MEMORY_REPORT" 1 => memory_report,
    "INVALIDATE" 1 => invalidate,
    "INVALIDATE" 2 => invalidate,
    "INVALIDATE" 3 => rc_invalidate_id,
    "INVALIDATE" 4 => rc_invalidate_id,
}

fn status<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(c.w.result_cache(&ResultCacheRequest::Status)?)
}

fn flush<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(c.w.result_cache(&ResultCacheRequest::Flush)?)
}

fn bypass<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(c.w.result_cache(&ResultCacheRequest::Bypass(c.a.flag(0)))?)
}

fn memory_report<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let report = c.w.result_cache(&ResultCacheRequest::MemoryReport { detailed: c.a.flag(0) })?;
    if let Value::Text(text) = report {
        for line in text.lines() {
            c.s.with_output(|o| o.put(line).map(|()| o.new_line()))?;
        }
    }
    Ok(())
}

fn invalidate<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let request = ResultCacheRequest::Invalidate { owner: unquote(c.a.text(0)), name: unquote(c.a.text(1)) };
    Ok(c.w.result_cache(&request)?)
}

fn rc_invalidate_id<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(c.w.result_cache(&ResultCacheRequest::InvalidateObject(c.a.integer(0).unwrap_or(0)))?)
}
